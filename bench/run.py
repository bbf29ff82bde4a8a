"""Measures pgbaton on a server of its own and prints one JSON line for each workload.

A figure is the median of several runs, each in a fresh copy of the database. Server CPU is the time
of the postmaster's finished children, so it counts backends and autovacuum, but no client. Goals
are those of the project; ratios are taken within one run, alternating with their baseline.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import http_streams
import limit_loads
import old_snapshot
import worker_runtime
from bench_server import SETTINGS, TEMPLATE, Bench, Connection, Cost

from pgbaton import embedded, install

PAYLOAD = "jsonb_build_object('i', i, 'pad', repeat('x', 170))"  # about 200 bytes
CLIENTS = 4


def enqueue_bulk(conn: Connection, jobs: int) -> None:
    for _ in range(jobs // 1000):
        conn.execute(
            f"select count(*) from pgbaton.enqueue_batch('plain',"
            f" array(select {PAYLOAD} from generate_series(1, 1000) as i))"
        )


def enqueue_singly(conn: Connection, jobs: int, queue: str = "plain", tags: str = "{}") -> None:
    conn.execute(
        f"do $$ begin for i in 1 .. {jobs} loop"
        f" perform pgbaton.enqueue_job('{queue}', {PAYLOAD}, tags => '{tags}'); end loop; end $$"
    )


def enqueue_keyed(conn: Connection, jobs: int, keys: int) -> None:
    for first in range(0, jobs, 20000):
        last = min(jobs, first + 20000)
        conn.execute(
            f"select count(*) from pgbaton.enqueue_batch('ordered',"
            f" array(select {PAYLOAD} from generate_series({first} + 1, {last}) as i),"
            f" array(select 'key-' || i % {keys} from generate_series({first} + 1, {last}) as i))"
        )


def drain(dsn: str, queue: str, batch: int, worker: str) -> list[tuple[int, float]]:
    """Claims and completes until nothing is left; returns (jobs, when) for each batch."""
    done = []
    with psycopg.connect(dsn, autocommit=True) as conn:
        while True:
            claimed = conn.execute(
                "select id, lease_token, payload"
                " from pgbaton.claim_job_batch(%s, %s, batch_size => %s)",
                (worker, [queue], batch),
            ).fetchall()
            if not claimed:
                return done
            verdicts = conn.execute(
                "select verdict from pgbaton.complete_jobs(%s, %s)",
                ([row[0] for row in claimed], claimed[0][1]),
            ).fetchall()
            assert {row[0] for row in verdicts} == {"ok"}
            done.append((len(claimed), time.perf_counter()))


def drain_process(dsn: str, queue: str, batch: int, worker: str, results: Any) -> None:
    results.put(sum(jobs for jobs, _ in drain(dsn, queue, batch, worker)))


def drain_together(dsn: str, queue: str, batch: int, expected: int) -> None:
    """Drains with several processes and checks that each job was completed once."""
    results: Any = multiprocessing.Queue()
    workers = [
        multiprocessing.Process(target=drain_process, args=(dsn, queue, batch, f"w{n}", results))
        for n in range(CLIENTS)
    ]
    for worker in workers:
        worker.start()
    total = sum(results.get() for _ in workers)
    for worker in workers:
        worker.join()
    assert total == expected, f"{total} jobs completed instead of {expected}"


def report(name: str, figures: dict[str, Any], goals: dict[str, tuple[float, float]]) -> bool:
    """Prints the JSON line of a workload. goals: name -> (what was measured, at most)."""
    missed = [
        f"{goal} {value:.2f} > {limit}" for goal, (value, limit) in goals.items() if value > limit
    ]
    line: dict[str, Any] = {"workload": name, **figures}
    line["goals"] = {goal: limit for goal, (_, limit) in goals.items()}
    line["missed"] = missed
    print(json.dumps(line), flush=True)
    return not missed


def cost_figures(costs: list[Cost]) -> dict[str, Any]:
    cpu = [cost.cpu_us for cost in costs]
    return {
        "jobs": costs[0].jobs,
        "runs": len(costs),
        "jobs_per_s": round(statistics.median(cost.per_second for cost in costs)),
        "server_cpu_us_per_job": round(statistics.median(cpu), 2),
        "server_cpu_us_spread": [round(min(cpu), 2), round(max(cpu), 2)],
        "wal_bytes_per_job": round(statistics.median(cost.wal_bytes for cost in costs)),
    }


def drain_workload(
    bench: Bench,
    name: str,
    queue: str,
    jobs: int,
    fill: Callable[[Connection, int], None],
    cpu: float,
    wal: float,
) -> bool:
    costs = []
    for _ in range(bench.runs):
        with bench.database() as database:
            with bench.connect(database) as conn:
                fill(conn, jobs)
                conn.execute("vacuum analyze")
            dsn = bench.server.dsn(dbname=database)
            costs.append(
                bench.measure(database, jobs, partial(drain_together, dsn, queue, 100, jobs))
            )
    figures = cost_figures(costs)
    goals = {
        "server_cpu_us_per_job": (figures["server_cpu_us_per_job"], cpu),
        "wal_bytes_per_job": (figures["wal_bytes_per_job"], wal),
    }
    return report(
        name, figures, {goal: pair for goal, pair in goals.items() if pair[1] < float("inf")}
    )


def drain_bulk(bench: Bench) -> bool:
    return drain_workload(bench, "drain_bulk", "plain", bench.count(200_000), enqueue_bulk, 12, 120)


def drain_single(bench: Bench) -> bool:
    return drain_workload(
        bench, "drain_single", "plain", bench.count(60_000), enqueue_singly, 20, float("inf")
    )


def drain_keyed(bench: Bench) -> bool:
    jobs = bench.count(100_000)
    return drain_workload(
        bench,
        "drain_keyed",
        "ordered",
        jobs,
        lambda conn, count: enqueue_keyed(conn, count, count // 10),
        60,
        float("inf"),
    )


def enqueue_batch(bench: Bench) -> bool:
    jobs = bench.count(200_000)
    costs = []
    for _ in range(bench.runs):
        with bench.database() as database:

            def work(database: str = database) -> None:
                with bench.connect(database) as conn:
                    enqueue_bulk(conn, jobs)

            costs.append(bench.measure(database, jobs, work))
    figures = cost_figures(costs)
    return report(
        "enqueue_batch",
        figures,
        {
            "server_cpu_us_per_job": (figures["server_cpu_us_per_job"], 6),
            "wal_bytes_per_job": (figures["wal_bytes_per_job"], 450),
        },
    )


def ratio_workload(
    bench: Bench,
    name: str,
    limit: float,
    prepare: Callable[[Connection], None],
    ours: Callable[[Connection], float],
    baseline: Callable[[Connection], float],
) -> bool:
    """Alternates between ours and a baseline on one connection; both return seconds."""
    mine, theirs = [], []
    with bench.database() as database, bench.connect(database) as conn:
        prepare(conn)
        for _ in range(bench.runs):
            mine.append(ours(conn))
            theirs.append(baseline(conn))
    ratio = statistics.median(mine) / statistics.median(theirs)
    figures = {
        "runs": bench.runs,
        "ms": round(statistics.median(mine) * 1e3, 3),
        "baseline_ms": round(statistics.median(theirs) * 1e3, 3),
        "ratio": round(ratio, 3),
        "ratio_spread": [
            round(min(a / b for a, b in zip(mine, theirs, strict=True)), 3),
            round(max(a / b for a, b in zip(mine, theirs, strict=True)), 3),
        ],
    }
    return report(name, figures, {"ratio": (ratio, limit)})


def seconds(work: Callable[[], object], times: int) -> float:
    """Mean time of one call."""
    started = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - started) / times


PLAIN_TABLE = """
create table textbook (
    id bigint generated always as identity primary key, queue text not null,
    status text not null default 'pending', priority integer not null default 100,
    payload jsonb not null, created_at timestamptz not null default now(),
    finished_at timestamptz
);
create index on textbook (priority desc, id) where status = 'pending';
"""


def enqueue_single(bench: Bench) -> bool:
    payload = json.dumps({"i": 1, "pad": "x" * 170})

    def prepare(conn: Connection) -> None:
        conn.execute(PLAIN_TABLE)

    def ours(conn: Connection) -> float:
        statement = "select pgbaton.enqueue_job('plain', %s::jsonb)"
        return seconds(lambda: conn.execute(statement, (payload,)).fetchone(), 2000)

    def baseline(conn: Connection) -> float:
        statement = "insert into textbook (queue, payload) values ('plain', %s::jsonb) returning id"
        return seconds(lambda: conn.execute(statement, (payload,)).fetchone(), 2000)

    return ratio_workload(bench, "enqueue_single_vs_insert", 1.3, prepare, ours, baseline)


def ack_singly(bench: Bench) -> bool:
    """One complete_job for each job of a batch claim, against one UPDATE for each row."""

    def prepare(conn: Connection) -> None:
        conn.execute(PLAIN_TABLE)
        enqueue_bulk(conn, 1000 * bench.runs)
        conn.execute(
            f"insert into textbook (queue, payload)"
            f" select 'plain', {PAYLOAD} from generate_series(1, {1000 * bench.runs}) as i"
        )
        conn.execute("vacuum analyze")

    def ours(conn: Connection) -> float:
        total = 0.0
        for _ in range(10):
            claimed = conn.execute(
                "select id, lease_token"
                " from pgbaton.claim_job_batch('w', array['plain'], batch_size => 100)"
            ).fetchall()
            assert len(claimed) == 100
            started = time.perf_counter()
            for job_id, token in claimed:
                conn.execute("select pgbaton.complete_job(%s, lease_token => %s)", (job_id, token))
            total += time.perf_counter() - started
        return total / 1000

    def baseline(conn: Connection) -> float:
        ids = conn.execute(
            "select id from textbook where status = 'pending' order by id limit 1000"
        ).fetchall()
        started = time.perf_counter()
        for (row_id,) in ids:
            conn.execute(
                "update textbook set status = 'done', finished_at = now() where id = %s", (row_id,)
            )
        return (time.perf_counter() - started) / len(ids)

    return ratio_workload(bench, "ack_singly_vs_update", 1.2, prepare, ours, baseline)


def held_snapshot(bench: Bench, queue: str, fill: Callable[[Connection, int], None]) -> bool:
    """The rate of the last tenth against the first, under a snapshot older than the first claim."""
    jobs = bench.count(200_000)
    ratios, first_rates = [], []
    for _ in range(min(bench.runs, 3)):
        with bench.database() as database:
            with bench.connect(database) as conn:
                fill(conn, jobs)
                conn.execute("vacuum analyze")
            with bench.connect(database) as holder, holder.transaction():
                holder.execute("set transaction isolation level repeatable read")
                holder.execute("select count(*) from pgbaton.queue")
                started = time.perf_counter()
                done = drain(bench.server.dsn(dbname=database), queue, 100, "w")
            assert sum(count for count, _ in done) == jobs
            first, last = (
                rate(done, started, 0, jobs // 10),
                rate(done, started, jobs * 9 // 10, jobs),
            )
            ratios.append(last / first)
            first_rates.append(first)
    ratio = statistics.median(ratios)
    figures = {
        "jobs": jobs,
        "runs": len(ratios),
        "first_tenth_jobs_per_s": round(statistics.median(first_rates)),
        "last_over_first": round(ratio, 3),
        "spread": [round(min(ratios), 3), round(max(ratios), 3)],
    }
    # Told as slowdown, so that as everywhere less is better.
    return report(f"held_snapshot_{queue}", figures, {"slowdown": (1 / ratio, 1.25)})


def rate(done: list[tuple[int, float]], started: float, first: int, last: int) -> float:
    """Jobs per second between the first-th and the last-th job."""
    total, begin, end = 0, started, started
    for count, at in done:
        if total < first:
            begin = at
        total += count
        end = at
        if total >= last:
            break
    return (last - first) / (end - begin)


def claim_time(queue: str, tags: str) -> Callable[[Connection], float]:
    def work(conn: Connection) -> float:
        statement = (
            "select count(*) from pgbaton.claim_job_batch('w', %s, tags => %s, batch_size => 10)"
        )
        return seconds(lambda: conn.execute(statement, ([queue], tags)).fetchone(), 100)

    return work


def claim_beside_backlog(
    bench: Bench,
    name: str,
    fill_small: Callable[[Connection], None],
    fill_backlog: Callable[[Connection], None],
    work: Callable[[Connection], float],
) -> bool:
    """Time of a claim of 10 with a million jobs beside it that it may not take, against none."""
    with_backlog, without = [], []
    times: dict[bool, list[float]] = {True: with_backlog, False: without}
    for crowded in (False, True):
        with bench.database() as database, bench.connect(database) as conn:
            if crowded:
                fill_backlog(conn)
            for _ in range(bench.runs):
                fill_small(conn)
            conn.execute("vacuum analyze")
            for _ in range(bench.runs):
                times[crowded].append(work(conn))
    ratio = statistics.median(with_backlog) / statistics.median(without)
    figures = {
        "runs": bench.runs,
        "claim_ms": round(statistics.median(with_backlog) * 1e3, 3),
        "claim_ms_without": round(statistics.median(without) * 1e3, 3),
        "ratio": round(ratio, 3),
    }
    return report(name, figures, {"ratio": (ratio, 1.2)})


def claim_beside_hot_key(bench: Bench) -> bool:
    """A million jobs wait behind one key that is held."""

    def backlog(conn: Connection) -> None:
        enqueue_keyed(conn, bench.count(1_000_000), 1)
        conn.execute("select count(*) from pgbaton.claim_job_batch('hot', null, lease => '1 day')")

    return claim_beside_backlog(
        bench, "claim_beside_hot_key", small_keys, backlog, claim_time("ordered", "{}")
    )


def small_keys(conn: Connection) -> None:
    """A thousand claimable jobs, each of a key of its own."""
    conn.execute(
        f"with last as (select coalesce(max(id), 0) as id from pgbaton.job)"
        f" select count(*) from last, pgbaton.enqueue_batch('ordered',"
        f" array(select {PAYLOAD} from generate_series(1, 1000) as i),"
        f" array(select 'own-' || last.id + i from generate_series(1, 1000) as i))"
    )


def claim_beside_lanes(bench: Bench) -> bool:
    """A million older jobs of 200 other lanes, which the worker does not ask for."""

    def backlog(conn: Connection) -> None:
        jobs = bench.count(1_000_000) // 200
        conn.execute(
            f"select count(*) from generate_series(1, 200) as lane, pgbaton.enqueue_batch('plain',"
            f" array(select {PAYLOAD} from generate_series(1, {jobs}) as i),"
            f" tags => array['other-' || lane])"
        )

    def small(conn: Connection) -> None:
        enqueue_singly(conn, 1000, tags="{mine}")

    return claim_beside_backlog(
        bench, "claim_beside_lanes", small, backlog, claim_time("plain", "{mine}")
    )


def claim_over_queues(bench: Bench) -> bool:
    """A claim over all of 5,000 queues that have work, as subscriptions are."""
    times = []
    with bench.database() as database, bench.connect(database) as conn:
        conn.execute(
            "do $$ begin for i in 1 .. 5000 loop"
            " perform pgbaton.create_queue('queue ' || i);"
            " perform pgbaton.enqueue_job('queue ' || i) from generate_series(1, 3);"
            " end loop; end $$"
        )
        conn.execute("vacuum analyze")
        claim = "select count(*) from pgbaton.claim_job_batch('w', batch_size => 10)"
        conn.execute(claim)
        times = [
            seconds(lambda: conn.execute(claim).fetchone(), 20) * 1e3 for _ in range(bench.runs)
        ]
    figures = {"runs": bench.runs, "claim_ms": round(statistics.median(times), 2)}
    return report("claim_over_5000_queues", figures, {"claim_ms": (figures["claim_ms"], 20)})


def worker_batches(bench: Bench) -> bool:
    """No-op handlers in four processes, batches of 100."""
    jobs = bench.count(100_000)
    rates = []
    for _ in range(bench.runs):
        with bench.database() as database:
            with bench.connect(database) as conn:
                enqueue_bulk(conn, jobs)
                conn.execute("vacuum analyze")
            dsn = bench.server.dsn(dbname=database)
            rates.append(jobs / worker_runtime.drained(dsn, worker_runtime.PROCESSES, jobs))
    rate = statistics.median(rates)
    figures = {"jobs": jobs, "runs": bench.runs, "jobs_per_s": round(rate)}
    return report("worker_batches", figures, {"us_per_job": (1e6 / rate, 1e6 / 15_000)})


def worker_one_at_a_time(bench: Bench) -> bool:
    """One no-op job after the other, beside the workers of procrastinate and pgqueuer."""
    jobs = bench.count(2_000)
    rates: dict[str, list[float]] = {name: [] for name in worker_runtime.RUNTIMES}
    for _ in range(bench.runs):
        for name, measured in rates.items():
            with bench.database() as database:
                dsn = bench.server.dsn(dbname=database)
                measured.append(worker_runtime.one_at_a_time(name, dsn, jobs))
    medians = {name: statistics.median(measured) for name, measured in rates.items()}
    best_peer = max(rate for name, rate in medians.items() if name != "pgbaton")
    figures = {
        "jobs": jobs,
        "runs": bench.runs,
        "jobs_per_s": {name: round(rate) for name, rate in medians.items()},
    }
    return report(
        "worker_one_at_a_time", figures, {"time_beside_peer": (best_peer / medians["pgbaton"], 1)}
    )


def worker_wake_up(bench: Bench) -> bool:
    """From an enqueue to the handler of a worker that sleeps."""
    times = max(20, int(200 * bench.scale))
    with bench.database() as database:
        waits = worker_runtime.wake_ups(bench.server.dsn(dbname=database), times)
    p50 = statistics.median(waits)
    figures = {
        "wake_ups": times,
        "p50_ms": round(p50, 2),
        "p95_ms": round(worker_runtime.percentile(waits, 0.95), 2),
    }
    return report("worker_wake_up", figures, {"p50_ms": (p50, 10)})


def worker_idle(bench: Bench) -> bool:
    """What a hundred sleeping workers cost, on the server and in their process."""
    seconds = max(5.0, 60 * bench.scale)
    with bench.database() as database:
        server, own = worker_runtime.idle_cost(
            bench.server.dsn(dbname=database), lambda: bench.processes_of(database), seconds
        )
    figures = {
        "workers": worker_runtime.SLEEPERS,
        "seconds": seconds,
        "server_share_of_a_core": round(server, 4),
        "worker_share_of_a_core": round(own, 4),
    }
    return report("worker_idle", figures, {"share_of_a_core": (server + own, 0.01)})


def http_streams_open(bench: Bench) -> bool:
    """A thousand open streams of one gateway process: a message for each, and single ones."""
    with bench.database() as database:
        found = http_streams.measured(
            bench.server.dsn(dbname=database),
            pushes=max(20, int(300 * bench.scale)),
            idle_seconds=max(5.0, 30 * bench.scale),
        )
    figures = {"streams": http_streams.STREAMS, **http_streams.figures_of(found)}
    return report("http_streams", figures, {"push_p50_ms": (figures["push_p50_ms"], 10)})


def limits(bench: Bench) -> bool:
    """What limits of a key and jobs that wait for jobs cost beside the same without."""
    loads = {
        "key_limit_8": (partial(limit_loads.key_limit, bench, drain_together), 1 / 0.8),
        "max_running_4_of_16_workers": (partial(limit_loads.max_running, bench), 1 / 0.7),
        "small_tenants_beside_a_large_one": (partial(limit_loads.tenants, bench), 1.2),
        "last_completion_of_a_fan_in": (partial(limit_loads.fan_in, bench), 2),
    }
    reached = True
    for name, (measured, most) in loads.items():
        figures = measured()
        reached &= report(name, figures, {"ratio": (figures["ratio"], most)})
    return reached


def held_ten_minutes(bench: Bench) -> bool:
    """A snapshot held for ten minutes: keyed jobs, and claims of one, beside each other."""
    loads = [
        old_snapshot.Load("ordered", batch=64, jobs_per_s=1000, has_keys=True),
        old_snapshot.Load("ordered_singly", batch=1, jobs_per_s=100, has_keys=True),
        old_snapshot.Load("plain", batch=1, jobs_per_s=100),
    ]
    with bench.database() as database:
        with bench.connect(database) as conn:
            conn.execute("select pgbaton.create_fifo_queue('ordered_singly')")
        dsn = bench.server.dsn(dbname=database)
        old_snapshot.measured(dsn, loads, minutes=max(3, round(10 * bench.scale)))
    reached = True
    for load in loads:
        # Not the first minute, in which nothing is cached and all tables are small.
        ratio = load.minutes[-1]["server_cpu_us_per_job"] / load.minutes[1]["server_cpu_us_per_job"]
        figures = {
            "batch": load.batch,
            "minutes": load.minutes,
            "last_over_second": round(ratio, 3),
        }
        reached &= report(f"held_ten_minutes_{load.queue}", figures, {"ratio": (ratio, 1.25)})
    return reached


WORKLOADS: dict[str, Callable[[Bench], bool]] = {
    "enqueue_batch": enqueue_batch,
    "enqueue_single": enqueue_single,
    "drain_bulk": drain_bulk,
    "drain_single": drain_single,
    "drain_keyed": drain_keyed,
    "ack_singly": ack_singly,
    "held_snapshot_plain": lambda bench: held_snapshot(bench, "plain", enqueue_singly),
    "held_snapshot_ordered": lambda bench: held_snapshot(
        bench, "ordered", lambda conn, jobs: enqueue_keyed(conn, jobs, 10_000)
    ),
    "claim_beside_hot_key": claim_beside_hot_key,
    "claim_beside_lanes": claim_beside_lanes,
    "claim_over_queues": claim_over_queues,
    "limits": limits,
    "worker_batches": worker_batches,
    "worker_one_at_a_time": worker_one_at_a_time,
    "worker_wake_up": worker_wake_up,
    "worker_idle": worker_idle,
    "http_streams": http_streams_open,
}
LARGE: dict[str, Callable[[Bench], bool]] = {"held_ten_minutes": held_ten_minutes}


def prepare_template(server: embedded.Server) -> None:
    with psycopg.connect(server.dsn(), autocommit=True) as conn:
        conn.execute(f"create database {TEMPLATE}")
    with psycopg.connect(server.dsn(dbname=TEMPLATE), autocommit=True) as conn:
        install.install(conn)
        conn.execute("select pgbaton.create_queue('plain')")
        conn.execute("select pgbaton.create_fifo_queue('ordered')")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "workloads", nargs="*", metavar="WORKLOAD", help=", ".join({**WORKLOADS, **LARGE})
    )
    parser.add_argument("--runs", type=int, default=5, help="runs of each (default: 5)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the jobs (default: 1)")
    parser.add_argument("--bindir", type=Path, help="server programs (default: the embedded ones)")
    parser.add_argument("--large", action="store_true", help=f"also: {', '.join(LARGE)}")
    options = parser.parse_args()
    known = {**WORKLOADS, **LARGE}
    names = options.workloads or list(known if options.large else WORKLOADS)
    unknown = [name for name in names if name not in known]
    if unknown or options.runs < 1 or options.scale <= 0:
        parser.error(
            f"unknown workloads: {', '.join(unknown)}" if unknown else "bad --runs or --scale"
        )

    bindir = embedded.use_bindir(options.bindir) if options.bindir else embedded.default_bindir()
    print(f"bench: PostgreSQL {bindir.version}, {os.cpu_count()} cores", file=sys.stderr)
    with embedded.temporary_server(bindir, SETTINGS, durable=True) as server:
        prepare_template(server)
        bench = Bench(server, options.runs, options.scale)
        reached = [known[name](bench) for name in names]
    print(f"bench: {sum(reached)} of {len(reached)} workloads reach their goals", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
