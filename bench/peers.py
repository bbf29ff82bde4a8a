"""Measures pgbaton beside other queues on one server: JSON, and Markdown tables on stdout.

The queues take turns within each workload (A B C, A B C, …), each run in a fresh copy of a database
that was filled once, and every run checks that the work was really done. `--scale 0.02` is a quick
trial whose figures mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import charts
import own_loads
import worker_runtime
from bench_server import SETTINGS, Bench
from harness import (
    CONSUMERS,
    IDLE,
    Fill,
    Lab,
    Run,
    ack_from_many,
    dead_tuples,
    drain,
    enqueue,
    steady,
)
from peer_report import Results, goals_of, markdown, write_docs
from queues import QUEUES
from queues.base import CHUNK, Connection, Queue
from queues.node_peers import MODULES, NodeQueue
from queues.own import Pgbaton, PgbatonInOneCall, PgbatonKeyLimit

from pgbaton import embedded

ROOT = Path(__file__).resolve().parents[1]
BINDIR = Path("/usr/lib/postgresql/15/bin")
BATCHES = (1, 10, 100, 500)
RATE = 2000
STRETCH = 2  # seconds that a queue enqueues or drains, if it is not done before


@dataclass
class Session:
    """What the workloads need."""

    lab: Lab
    queues: list[Queue]
    runs: int
    scale: float
    held: float
    held_peers: float
    is_large: bool
    rate: int  # jobs a second of a steady load
    variants: list[Queue]  # of ours
    results: Results = field(default_factory=Results)

    def jobs(self, number: int) -> int:
        """Scaled, in thousands."""
        return max(1000, int(number * self.scale) // 1000 * 1000)

    def seconds(self, number: float) -> float:
        return max(number * min(self.scale, 1.0), min(number, 1.0))

    @property
    def ours(self) -> list[Queue]:
        return [queue for queue in self.queues if isinstance(queue, Pgbaton)]

    def variant(self, kind: type[Queue]) -> list[Queue]:
        return [queue for queue in self.variants if isinstance(queue, kind)]

    def ordered(self) -> list[Queue]:
        return [queue for queue in self.queues if queue.order is not None]

    def in_turns(
        self,
        workload: str,
        queues: Sequence[Queue],
        one: Callable[[Queue], Run],
        runs: int | None = None,
    ) -> None:
        for _ in range(runs or self.runs):
            for queue in queues:
                self.results.attempt(workload, queue.name, partial(one, queue))


# Enqueue


def enqueue_one(session: Session) -> None:
    """Four clients, one job a call."""

    def one(queue: Queue) -> Run:
        with session.lab.fresh(queue) as database:
            call = partial(enqueue_first, queue)
            run = session.lab.measure(
                database, lambda dsn: enqueue(dsn, call, 1, CONSUMERS, session.seconds(STRETCH))
            )
            check_enqueued(session, queue, database, run.jobs)
        return run

    session.in_turns("enqueue_one", session.queues, one)


def enqueue_first(queue: Queue, conn: Connection, payloads: list[str]) -> None:
    queue.enqueue_one(conn, payloads[0])


def check_enqueued(session: Session, queue: Queue, database: str, jobs: int) -> None:
    with session.lab.bench.connect(database) as conn:
        found = queue.enqueued(conn)
    assert found == jobs, f"{queue.name}: {found} of {jobs} jobs were enqueued"


def enqueue_bulk(session: Session) -> None:
    """One client, a thousand jobs a call; beside it COPY into a table like pgbaton.job."""

    def one(queue: Queue) -> Run:
        with session.lab.fresh(queue) as database:
            run = session.lab.measure(
                database,
                lambda dsn: enqueue(dsn, queue.enqueue_many, CHUNK, 1, session.seconds(STRETCH)),
            )
            check_enqueued(session, queue, database, run.jobs)
        return run

    def copy(queue: Queue) -> Run:
        with session.lab.fresh(queue, "copy", own_loads.make_plain_table) as database:
            run = session.lab.measure(
                database,
                lambda dsn: enqueue(dsn, own_loads.copy, CHUNK, 1, session.seconds(STRETCH)),
            )
            with session.lab.bench.connect(database) as conn:
                assert own_loads.count_plain(conn) == run.jobs
        return run

    for _ in range(session.runs):
        session.in_turns("enqueue_bulk", session.queues, one, runs=1)
        for queue in session.ours:
            session.results.attempt("enqueue_bulk", "COPY", partial(copy, queue))


def enqueue_keyed(session: Session) -> None:
    """The same with a key for each job of a call."""

    def one(queue: Queue) -> Run:
        keys = [f"key-{i}" for i in range(CHUNK)]
        with session.lab.fresh(queue) as database:

            def call(conn: Connection, payloads: list[str]) -> None:
                queue.enqueue_many(conn, payloads, keys)

            run = session.lab.measure(
                database, lambda dsn: enqueue(dsn, call, CHUNK, 1, session.seconds(STRETCH))
            )
            check_enqueued(session, queue, database, run.jobs)
        return run

    session.in_turns("enqueue_keyed", session.ordered(), one)


# Drain


def drain_workload(session: Session, batch: int, consumers: int) -> None:
    workload = f"drain_b{batch}" + ("" if consumers == CONSUMERS else f"_{consumers}_consumers")

    def one(queue: Queue) -> Run:
        jobs = session.jobs(200_000)
        if queue.fill_depends_on_batch:
            jobs = min(jobs, 5000 * batch)
        fill = Fill(jobs, batch=batch)
        with session.lab.filled(queue, fill) as database:
            limit = session.seconds(STRETCH)
            return session.lab.measure(
                database, lambda dsn: drain(queue, dsn, fill, consumers, limit)
            )

    queues = [queue for queue in session.queues if queue.claims_batches or batch == 1]
    if consumers == CONSUMERS:
        queues[1:1] = session.variant(PgbatonInOneCall)
    runs = session.runs if consumers == CONSUMERS else min(session.runs, 2)
    session.in_turns(workload, queues, one, runs)


def drain_all(session: Session) -> None:
    """Jobs that were enqueued in bulk, batches acknowledged whole."""
    for batch in BATCHES:
        drain_workload(session, batch, CONSUMERS)
    for consumers in (1, 16):
        drain_workload(session, 100, consumers)


def drain_single(session: Session) -> None:
    """Jobs that were enqueued one by one, batches of 100."""
    fill = Fill(session.jobs(60_000), singly=True)

    def one(queue: Queue) -> Run:
        with session.lab.filled(queue, fill) as database:
            limit = session.seconds(STRETCH)
            return session.lab.measure(database, lambda dsn: drain(queue, dsn, fill, limit=limit))

    with_states = [q for q in session.queues if q.claims_batches and q.keeps_states]
    session.in_turns("drain_single", with_states, one)


def ack_singly(session: Session) -> None:
    """Batches of 100, each acknowledged job by job from ten connections at once."""
    fill = Fill(session.jobs(200_000))

    def one(queue: Queue) -> Run:
        with session.lab.filled(queue, fill) as database:
            dsn = session.lab.dsn(database)
            work = ack_from_many(queue, dsn, session.jobs(20_000), 10)
            return session.lab.measure(database, work)

    session.in_turns("ack_singly", [q for q in session.queues if q.acks_singly], one)


# Latency


def steady_load(session: Session) -> None:
    """2,000 jobs a second (see --rate), enqueued one by one, for 6 s."""

    def one(queue: Queue) -> Run:
        with session.lab.fresh(queue) as database:
            return session.lab.measure(
                database, lambda dsn: steady(queue, dsn, session.rate, session.seconds(6))
            )

    session.in_turns("steady", session.queues, one)


def held_snapshot(session: Session) -> None:
    """The same load under a snapshot that stays open from before the first job."""

    def one(queue: Queue, keys: int | None) -> Run:
        seconds = session.held if isinstance(queue, Pgbaton) else session.held_peers
        with (
            session.lab.fresh(queue) as database,
            session.lab.bench.connect(database) as holder,
        ):
            holder.execute("begin isolation level repeatable read")
            holder.execute("select count(*) from pg_class")
            run = steady(queue, session.lab.dsn(database), session.rate, seconds, keys)
            run.extra["held_s"] = seconds
            run.dead_tuples = dead_tuples(holder)
            holder.execute("commit")
        return run

    batching = [queue for queue in session.queues if queue.claims_batches]
    session.in_turns("held_snapshot", batching, lambda queue: one(queue, None), runs=1)
    session.in_turns("held_snapshot_keyed", session.ours, lambda queue: one(queue, 10_000), runs=1)


def wake_up(session: Session) -> None:
    """From an enqueue to the handler of our worker that sleeps; no peer."""
    for queue in session.ours:
        with session.lab.fresh(queue) as database:
            times = max(20, int(200 * session.scale))
            started = time.perf_counter()
            waits = worker_runtime.wake_ups(session.lab.dsn(database), times)
            run = Run(times, time.perf_counter() - started)
            for share in (50, 95):
                run.extra[f"wake_p{share}_ms"] = worker_runtime.percentile(waits, share / 100)
        session.results.add("wake_up", queue.name, run)


# Backlog


def backlog(session: Session) -> None:
    """One consumer takes 5,000 jobs of 10,000 and of a million, in turns; ours also of 10M."""
    for queue in session.queues:
        sizes = {"10k": 10_000, "1M": 1_000_000}
        if session.is_large and isinstance(queue, Pgbaton):
            sizes["10M"] = 10_000_000
        for _ in range(min(session.runs, 2)):
            for name, jobs in sizes.items():
                if jobs <= queue.largest_backlog:
                    one = partial(backlog_run, session, queue, jobs)
                    session.results.attempt(f"backlog_{name}", queue.name, one)
        session.lab.forget()


def backlog_run(session: Session, queue: Queue, jobs: int) -> Run:
    batch = 100 if queue.claims_batches else 1
    fill, taken = Fill(max(5000, session.jobs(jobs)), batch=100), session.jobs(5000)
    with session.lab.filled(queue, fill) as database:
        now, limit = fill._replace(batch=batch), session.seconds(5)
        return session.lab.measure(
            database, lambda dsn: drain(queue, dsn, now, 1, limit, most=taken)
        )


# Keys


def keyed(session: Session) -> None:
    """10,000 keys with ten jobs each; many keys with one job each; ours also 10,000 with 20."""
    wide = session.jobs(1_000_000 if session.is_large else 200_000)
    narrow = min(10_000, session.jobs(10_000))
    shapes = {
        "keyed_10k_x_10": (
            Fill(narrow * 10, narrow),
            [*session.ordered(), *session.variant(PgbatonKeyLimit)],
        ),
        "keyed_many_x_1": (Fill(wide, wide), session.ordered()),
        "keyed_10k_x_many": (Fill(wide, max(1000, wide // 100)), session.ours),
    }
    for workload, (fill, queues) in shapes.items():
        session.in_turns(workload, queues, partial(keyed_run, session, fill))
        session.lab.forget()


def keyed_run(session: Session, fill: Fill, queue: Queue) -> Run:
    batch = 100 if queue.claims_batches else 1
    with session.lab.filled(queue, fill) as database:
        limit = session.seconds(5)
        return session.lab.measure(
            database, lambda dsn: drain(queue, dsn, fill._replace(batch=batch), limit=limit)
        )


def max_running(session: Session) -> None:
    """Sixteen consumers that claim one job each, of a queue that runs four at most; and without."""
    fill = Fill(session.jobs(50_000), batch=1)
    limit = session.seconds(2 * STRETCH)

    def one(queue: Queue, most: int | None, consumers: int) -> Run:
        with session.lab.filled(queue, fill) as database:
            with session.lab.bench.connect(database) as conn:
                queue.limit_running(conn, most)
            return session.lab.measure(
                database, lambda dsn: drain(queue, dsn, fill, consumers, limit, idle=IDLE)
            )

    limited = [queue for queue in session.queues if queue.limits_running]
    for _ in range(session.runs):
        for queue in limited:
            for name, most, consumers in (
                ("max_running_4", CONSUMERS, 16),
                ("no_limit_16_consumers", None, 16),
                ("no_limit_4_consumers", None, CONSUMERS),
            ):
                one_of = partial(one, queue, most, consumers)
                session.results.attempt(name, queue.name, one_of)


def hot_key(session: Session) -> None:
    """10,000 jobs of other keys behind 100,000 of one: when the others are done, and without."""
    hot = session.jobs(100_000)
    others = Fill(session.jobs(10_000), 10_000_000, first=hot)

    def one(queue: Queue, *before: Fill) -> Run:
        batch = 100 if queue.claims_batches else 1
        with session.lab.filled(queue, *before, others) as database:
            return session.lab.measure(
                database,
                lambda dsn: drain(
                    queue,
                    dsn,
                    others._replace(batch=batch),
                    limit=session.seconds(10),
                    others=sum(fill.jobs for fill in before),
                ),
            )

    for _ in range(session.runs):
        for queue in session.ordered():
            session.results.attempt("no_hot_key", queue.name, partial(one, queue))
            session.results.attempt("hot_key", queue.name, partial(one, queue, Fill(hot, 1)))
    session.lab.forget()


def ours_only(session: Session) -> None:
    """What only pgbaton is asked: see own_loads."""
    for queue in session.ours:
        loads = own_loads.Loads(
            session.lab, queue, session.runs, session.jobs, session.seconds, session.is_large
        )
        for workload, one in loads.all():
            session.results.attempt(workload, queue.name, one)
    session.lab.forget()


WORKLOADS: dict[str, Callable[[Session], None]] = {
    "enqueue_one": enqueue_one,
    "enqueue_bulk": enqueue_bulk,
    "enqueue_keyed": enqueue_keyed,
    "drain": drain_all,
    "drain_single": drain_single,
    "ack_singly": ack_singly,
    "steady": steady_load,
    "wake_up": wake_up,
    "held_snapshot": held_snapshot,
    "backlog": backlog,
    "keyed": keyed,
    "max_running": max_running,
    "hot_key": hot_key,
    "ours_only": ours_only,
}


# Start


def summary(session: Session, version: str, minutes: float) -> str:
    return (
        f"{time.strftime('%d %B %Y')}, {os.cpu_count()} cores ({platform.machine()}), PostgreSQL"
        f" {version} ({', '.join(f'{name} {value}' for name, value in SETTINGS.items())}), psycopg"
        f" {psycopg.__version__}; {session.runs} runs, scale {session.scale:g},"
        f" {minutes:.0f} minutes. Medians, in brackets the least and the most."
        f" A snapshot was held for {session.held:g} s beside pgbaton, {session.held_peers:g} s"
        " beside the others."
    )


def addition(session: Session, names: Sequence[str], minutes: float) -> str:
    """The same of workloads that were measured after the others."""
    return (
        f"Measured by themselves on {time.strftime('%d %B %Y')}: {', '.join(names)}; runs:"
        f" {session.runs}, scale {session.scale:g}, {session.rate} jobs a second where the load is"
        f" steady, snapshots held for {session.held:g} and {session.held_peers:g} s,"
        f" {minutes:.0f} minutes."
    )


def missing(names: Sequence[str], bindir: Path) -> list[str]:
    """What has to be installed to measure these queues."""
    lacks = []
    if not (bindir / "postgres").exists():
        lacks.append(f"PostgreSQL 15 ({bindir}): apt-get install postgresql-15")
    control = Path("/usr/share/postgresql/15/extension/pgq.control")
    if "pgq" in names and not control.exists():
        lacks.append("PgQ: apt-get install postgresql-15-pgq3")
    of_node = [name for name in names if issubclass(QUEUES[name], NodeQueue)]
    if of_node and shutil.which("node") is None:
        lacks.append("node (20 or newer): apt-get install nodejs npm")
    if of_node and not MODULES.is_dir():
        lacks.append(f"{MODULES}: make build/peers")
    return lacks


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", nargs="*", choices=WORKLOADS, default=list(WORKLOADS), help="none: see --add"
    )
    parser.add_argument("--peers", nargs="+", choices=QUEUES, default=list(QUEUES))
    parser.add_argument("--runs", type=int, help="of each (default: 3; 1 if the scale is < 0.1)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of jobs and seconds")
    parser.add_argument("--held", type=float, default=120, help="seconds of the held snapshot")
    parser.add_argument(
        "--held-peers", type=float, default=45, help="the same beside the others (default: 45)"
    )
    parser.add_argument(
        "--large",
        action="store_true",
        help="also 10M in the backlog and scheduled, 1M keys, 1M jobs behind a key and in lanes",
    )
    parser.add_argument(
        "--rate",
        type=int,
        default=RATE,
        help=f"jobs a second of steady loads (default: {RATE}): fewer on a slow machine",
    )
    parser.add_argument("--bindir", type=Path, default=BINDIR, help="server programs")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "bench-peers.json")
    parser.add_argument(
        "--add",
        action="store_true",
        help="keep what the JSON file has of workloads that are not measured now; with --only and"
        " nothing behind it: only make its tables and pictures anew",
    )
    parser.add_argument(
        "--write-docs",
        action="store_true",
        help="put the tables into docs/performance.md, and pictures of them into docs/images",
    )
    options = parser.parse_args()
    if not options.only and not options.add:
        parser.error("--only without a workload goes with --add")
    if options.scale <= 0 or (options.runs is not None and options.runs < 1):
        parser.error("bad --runs or --scale")
    options.runs = options.runs or (3 if options.scale >= 0.1 else 1)
    if options.only and (lacks := missing(options.peers, options.bindir)):
        parser.error("not installed:\n  " + "\n  ".join(lacks))
    return options


def main() -> int:
    options = parse()
    report: dict[str, Any] = json.loads(options.json.read_text()) if options.add else {}
    if options.only:
        report = measured(options, report)
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False))
    results = Results.of(report)
    text = markdown(report, results, goals_of(results, QUEUES))
    print(text)
    if options.write_docs:
        write_docs(ROOT / "docs" / "performance.md", text)
        charts.write(results)
    for failure in results.failures:
        print(f"FAILED {failure}", file=sys.stderr)
    return 1 if results.failures else 0


def measured(options: argparse.Namespace, before: dict[str, Any]) -> dict[str, Any]:
    """The workloads of this run, and those of an earlier report that are not in it."""
    begun = time.monotonic()
    bindir = embedded.use_bindir(options.bindir)
    with embedded.temporary_server(bindir, SETTINGS, durable=True) as server:
        lab = Lab(Bench(server, options.runs, options.scale))
        queues = [QUEUES[name]() for name in options.peers]
        for queue in queues:
            lab.install(queue)
        variants: list[Queue] = []
        if any(isinstance(queue, Pgbaton) for queue in queues):
            variants = [PgbatonInOneCall(), PgbatonKeyLimit()]
        for queue in variants:
            lab.install(queue)
        session = Session(
            lab,
            queues,
            options.runs,
            options.scale,
            max(3.0, options.held * min(1.0, options.scale)),
            max(3.0, options.held_peers * min(1.0, options.scale)),
            options.large,
            options.rate,
            variants,
        )
        for name in options.only:
            started = time.monotonic()
            WORKLOADS[name](session)
            lab.forget()
            print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    minutes = (time.monotonic() - begun) / 60
    results = session.results
    summaries = [summary(session, str(bindir.version), minutes)]
    if before:
        results.keep(Results.of(before))
        summaries = [*before["summaries"], addition(session, options.only, minutes)]
    return {
        "summaries": summaries,
        "queues": [[queue.name, queue.version, queue.settings] for queue in queues + variants],
        "goals": [
            {**goal._asdict(), "verdict": goal.verdict} for goal in goals_of(results, QUEUES)
        ],
        "failures": results.failures,
        "runs": [
            {"workload": key.workload, "queue": key.queue, "runs": runs}
            for key, runs in results.runs.items()
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
