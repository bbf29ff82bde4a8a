"""Loads for limits and for jobs that wait for jobs, each beside the same work without them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import worker_runtime
from bench_server import Bench, Connection

TENANTS, JOBS_OF_A_TENANT = 200, 10
SMALL_JOBS = (TENANTS - 1) * JOBS_OF_A_TENANT
PARENTS = 10_000
PLACES, HANDLER_S = 4, 0.01


def key_limit(bench: Bench, drain: Callable[[str, str, int, int], None]) -> dict[str, Any]:
    """10,000 keys with ten jobs each: eight of a key at once against one in order."""
    jobs = bench.count(100_000)
    times: dict[str, list[float]] = {"ordered": [], "limited": []}
    for _ in range(bench.runs):
        for queue, measured in times.items():
            with bench.database() as database:
                with bench.connect(database) as conn:
                    conn.execute("select pgbaton.create_queue('limited', 'singleton')")
                    conn.execute("select pgbaton.set_queue_limits('limited', key_limit => 8)")
                    enqueue_for_keys(conn, queue, jobs, jobs // 10)
                    conn.execute("vacuum analyze")
                dsn = bench.server.dsn(dbname=database)
                started = time.perf_counter()
                drain(dsn, queue, 100, jobs)
                measured.append(time.perf_counter() - started)
    return {"jobs": jobs, **beside(times["limited"], times["ordered"])}


def max_running(bench: Bench) -> dict[str, Any]:
    """Sixteen workers of a queue that lets four jobs run against four workers without a limit."""
    jobs = bench.count(4_000)
    times: dict[int, list[float]] = {4 * PLACES: [], PLACES: []}
    for _ in range(bench.runs):
        for workers, measured in times.items():
            with bench.database() as database:
                if workers > PLACES:
                    with bench.connect(database) as conn:
                        conn.execute(
                            "select pgbaton.set_queue_limits('plain', max_running => %s)", (PLACES,)
                        )
                dsn = bench.server.dsn(dbname=database)
                rate = worker_runtime.rate_of_several(dsn, "plain", workers, jobs, HANDLER_S)
                measured.append(jobs / rate)
    return {"jobs": jobs, **beside(times[4 * PLACES], times[PLACES])}


def tenants(bench: Bench) -> dict[str, Any]:
    """Ten jobs of each of 199 tenants, with and without a million of another one before them."""
    times: dict[bool, list[float]] = {True: [], False: []}
    for is_crowded, measured in times.items():
        with bench.database() as database, bench.connect(database) as conn:
            conn.execute("select pgbaton.create_queue('tenants', 'singleton')")
            conn.execute("select pgbaton.set_queue_limits('tenants', key_limit => 2)")
            if is_crowded:
                enqueue_for_keys(conn, "tenants", bench.count(1_000_000), 1)
            for _ in range(bench.runs):
                enqueue_for_keys(conn, "tenants", SMALL_JOBS, TENANTS - 1, "tenant")
                conn.execute("vacuum analyze")
                measured.append(time_of_small_tenants(conn))
    return beside(times[True], times[False])


def time_of_small_tenants(conn: Connection) -> float:
    """Claims and completes batches of ten until all jobs but the large tenant's are done."""
    left = SMALL_JOBS
    started = time.perf_counter()
    while left:
        claimed = claim(conn, "tenants", 10)
        assert claimed, f"nothing to claim, but {left} are left"
        complete(conn, claimed)
        left -= sum(key != "key-0" for _, _, key in claimed)
    return time.perf_counter() - started


def fan_in(bench: Bench) -> dict[str, Any]:
    """The last completion of 10,000 jobs, with a job that waits for all of them and without."""
    times: dict[bool, list[float]] = {True: [], False: []}
    with bench.database() as database, bench.connect(database) as conn:
        for _ in range(bench.runs):
            for has_child, measured in times.items():
                measured.append(last_completion(conn, has_child=has_child))
    return beside(times[True], times[False])


def last_completion(conn: Connection, *, has_child: bool) -> float:
    ids = [
        row[0]
        for row in conn.execute(
            "select id from pgbaton.enqueue_batch('plain', array_fill('1'::jsonb, array[%s]))"
            " as id",
            (PARENTS,),
        )
    ]
    if has_child:
        conn.execute(
            "select pgbaton.enqueue_job('ordered', singleton_key => 'child', after => %s)", (ids,)
        )
    claimed: list[tuple[int, int, str | None]] = []
    while len(claimed) < PARENTS:
        batch = claim(conn, "plain", 1000)
        complete(conn, batch[:-1] if len(claimed) + len(batch) == PARENTS else batch)
        claimed += batch
    conn.execute("vacuum analyze")
    conn.execute("select pgbaton.claim_job_batch('w', array['ordered'])")  # does what is due
    started = time.perf_counter()
    complete(conn, claimed[-1:])
    seconds = time.perf_counter() - started
    child = claim(conn, "ordered", 10)
    assert len(child) == has_child, f"{len(child)} jobs may run after the last completion"
    complete(conn, child)
    return seconds


def enqueue_for_keys(conn: Connection, queue: str, jobs: int, keys: int, name: str = "key") -> None:
    for first in range(0, jobs, 20_000):
        last = min(jobs, first + 20_000)
        conn.execute(
            "select count(*) from pgbaton.enqueue_batch(%s,"
            " array(select jsonb_build_object('i', i, 'pad', repeat('x', 170))"
            "  from generate_series(%s + 1, %s) as i),"
            " array(select %s || '-' || i %% %s from generate_series(%s + 1, %s) as i))",
            (queue, first, last, name, keys, first, last),
        )


def claim(conn: Connection, queue: str, most: int) -> list[tuple[int, int, str | None]]:
    """Ids, lease tokens and keys."""
    return conn.execute(
        "select id, lease_token, singleton_key"
        " from pgbaton.claim_job_batch('w', array[%s], batch_size => %s)",
        (queue, most),
    ).fetchall()


def complete(conn: Connection, claimed: list[tuple[int, int, str | None]]) -> None:
    if claimed:
        verdicts = conn.execute(
            "select verdict from pgbaton.complete_jobs(%s, %s)",
            ([row[0] for row in claimed], claimed[0][1]),
        ).fetchall()
        assert {row[0] for row in verdicts} == {"ok"}


def beside(mine: list[float], theirs: list[float]) -> dict[str, Any]:
    """Medians in milliseconds, and by what mine take longer."""
    return {
        "runs": len(mine),
        "ms": round(statistics.median(mine) * 1e3, 2),
        "baseline_ms": round(statistics.median(theirs) * 1e3, 2),
        "ratio": round(statistics.median(mine) / statistics.median(theirs), 3),
    }
