"""Workloads of pgbaton.Worker, and of other Python workers beside it (extra: bench)."""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import os
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg

from pgbaton import Client, RunningJob, Worker

PROCESSES = 4
SLEEPERS = 100
CONTEXT = multiprocessing.get_context("spawn")
Connection = psycopg.Connection[Any]


async def until_stopped(worker: Worker, stop: Any) -> None:
    """Runs a worker until the event of another process is set."""
    run = asyncio.create_task(worker.run_async())
    await asyncio.to_thread(stop.wait)
    worker.stop()
    await run


# Batches of 100, several processes


def no_op_process(dsn: str, ready: Any, stop: Any) -> None:
    worker = Worker(dsn, capacity=200, batch_size=100)

    @worker.handler("plain")
    async def handle(job: RunningJob) -> None:
        pass

    ready.wait()
    asyncio.run(until_stopped(worker, stop))


def drained(dsn: str, processes: int, jobs: int) -> float:
    """Seconds from the start of the workers' loops until no job is left."""
    ready, stop = CONTEXT.Barrier(processes + 1), CONTEXT.Event()
    workers = [
        CONTEXT.Process(target=no_op_process, args=(dsn, ready, stop)) for _ in range(processes)
    ]
    for worker in workers:
        worker.start()
    with psycopg.connect(dsn, autocommit=True) as conn:
        ready.wait()
        started = time.perf_counter()
        while conn.execute("select 1 from pgbaton.span limit 1").fetchone() is not None:
            time.sleep(0.01)
        seconds = time.perf_counter() - started
        row = conn.execute(
            "select sum(hi - lo + 1) from pgbaton.job_history where state = 'completed'"
        ).fetchone()
        assert row == (jobs,), f"{row} jobs completed instead of {jobs}"
    stop.set()
    for worker in workers:
        worker.join()
    return seconds


# One job at a time


class Stopwatch:
    """Counts no-op jobs and tells their rate from the first to the last."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._times: list[float] = []
        self.done = asyncio.Event()

    def tick(self) -> None:
        self._times.append(time.perf_counter())
        if len(self._times) == self._jobs:
            self.done.set()

    @property
    def per_second(self) -> float:
        assert len(self._times) == self._jobs
        return (self._jobs - 1) / (self._times[-1] - self._times[0])


async def ours(dsn: str, jobs: int) -> float:
    watch = Stopwatch(jobs)
    worker = Worker(dsn, capacity=1)

    @worker.handler("plain")
    async def handle(job: RunningJob) -> None:
        watch.tick()

    with Client(dsn) as client:
        client.enqueue_batch("plain", ({"i": i} for i in range(jobs)))
    run = asyncio.create_task(worker.run_async())
    await watch.done.wait()
    worker.stop()
    await run
    return watch.per_second


async def of_procrastinate(dsn: str, jobs: int) -> float:
    import procrastinate

    watch = Stopwatch(jobs)
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=dsn))

    @app.task(name="no_op")
    async def no_op(i: int) -> None:
        watch.tick()

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await no_op.batch_defer_async(*({"i": i} for i in range(jobs)))
        await app.run_worker_async(concurrency=1, wait=False, install_signal_handlers=False)
    return watch.per_second


async def of_pgqueuer(dsn: str, jobs: int) -> float:
    from pgqueuer import PgQueuer
    from pgqueuer.db import PsycopgDriver
    from pgqueuer.models import Job
    from pgqueuer.queries import Queries
    from pgqueuer.types import QueueExecutionMode

    watch = Stopwatch(jobs)
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as conn:
        driver = PsycopgDriver(conn)
        queries = Queries(driver)
        await queries.install()
        payloads: list[bytes | None] = [json.dumps(i).encode() for i in range(jobs)]
        await queries.enqueue(["no_op"] * jobs, payloads, [0] * jobs)
        app = PgQueuer(driver)

        @app.entrypoint("no_op")
        async def no_op(job: Job) -> None:
            watch.tick()

        await app.run(batch_size=1, mode=QueueExecutionMode.drain)
    return watch.per_second


RUNTIMES: dict[str, Callable[[str, int], Awaitable[float]]] = {
    "pgbaton": ours,
    "procrastinate": of_procrastinate,
    "pgqueuer": of_pgqueuer,
}


def one_at_a_time(runtime: str, dsn: str, jobs: int) -> float:
    """Jobs a second, one after the other."""
    logging.disable(logging.WARNING)
    return asyncio.run(RUNTIMES[runtime](dsn, jobs))  # type: ignore[arg-type]


# Several workers, one job each at a time


async def _rate_of_several(dsn: str, queue: str, workers: int, jobs: int, seconds: float) -> float:
    watch = Stopwatch(jobs)
    several = [Worker(dsn, worker_id=f"worker {n}", capacity=1) for n in range(workers)]

    async def handle(job: RunningJob) -> None:
        await asyncio.sleep(seconds)
        watch.tick()

    for worker in several:
        worker.handler(queue)(handle)
    with Client(dsn) as client:
        client.enqueue_batch(queue, ({"i": i} for i in range(jobs)))
    runs = [asyncio.create_task(worker.run_async()) for worker in several]
    await watch.done.wait()
    for worker in several:
        worker.stop()
    await asyncio.gather(*runs)
    return watch.per_second


def rate_of_several(dsn: str, queue: str, workers: int, jobs: int, seconds: float) -> float:
    """Jobs a second of workers with handlers that take so long, from the first end to the last."""
    logging.disable(logging.WARNING)
    return asyncio.run(_rate_of_several(dsn, queue, workers, jobs, seconds))


# Waking up


def listening_process(dsn: str, begun: Any, stop: Any) -> None:
    worker = Worker(dsn)

    @worker.handler("plain")
    async def handle(job: RunningJob) -> None:
        begun.send(time.perf_counter())

    asyncio.run(until_stopped(worker, stop))


def wake_ups(dsn: str, times: int) -> list[float]:
    """Milliseconds from an enqueue, begun while the worker sleeps, to its handler."""
    theirs, begun = CONTEXT.Pipe(duplex=False)[::-1]
    stop = CONTEXT.Event()
    worker = CONTEXT.Process(target=listening_process, args=(dsn, theirs, stop))
    worker.start()
    waits = []
    with Client(dsn) as client, psycopg.connect(dsn, autocommit=True) as conn:
        for _ in range(times):
            while conn.execute("select 1 from pgbaton.sleeper").fetchone() is None:
                time.sleep(0.005)
            started = time.perf_counter()
            client.enqueue_job("plain", {"hello": True})
            waits.append((begun.recv() - started) * 1e3)
    stop.set()
    worker.join()
    return waits


# Sleeping


def sleeping_process(dsn: str, ready: Any, stop: Any) -> None:
    async def sleep() -> None:
        workers = [Worker(dsn, worker_id=f"sleeper {n}") for n in range(SLEEPERS)]
        for worker in workers:
            worker.handler("plain")(lambda job: None)
        runs = [asyncio.create_task(worker.run_async()) for worker in workers]
        await asyncio.to_thread(stop.wait)
        for worker in workers:
            worker.stop()
        await asyncio.gather(*runs)

    asyncio.run(sleep())


def ticks_of(process: str) -> int:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def idle_cost(dsn: str, backends: Callable[[], list[str]], seconds: float) -> tuple[float, float]:
    """CPU seconds a second of the server and of the process, with all workers asleep."""
    stop = CONTEXT.Event()
    process = CONTEXT.Process(target=sleeping_process, args=(dsn, None, stop))
    process.start()
    with psycopg.connect(dsn, autocommit=True) as conn:
        while conn.execute("select count(*) from pgbaton.sleeper").fetchone() != (SLEEPERS,):
            time.sleep(0.1)
    time.sleep(63)  # the first minute of a backend is spent on planning its calls
    watched = [*backends(), str(process.pid)]
    before = {p: ticks_of(p) for p in watched}
    time.sleep(seconds)
    spent = {p: ticks_of(p) - before[p] for p in watched}
    stop.set()
    process.join()
    own = spent.pop(str(process.pid))
    tick = os.sysconf("SC_CLK_TCK")
    return sum(spent.values()) / tick / seconds, own / tick / seconds


def percentile(values: list[float], share: float) -> float:
    return statistics.quantiles(values, n=100)[round(share * 100) - 1]
