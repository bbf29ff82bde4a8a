"""Stopping a worker: by signals to a real process, by stop(), and by kill -9."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import process_handlers
import psycopg
import pytest
from workers import PATIENCE, Running, running, wait_for_state, wait_until

from pgbaton import Client, RunningJob, Worker
from pgbaton.worker import Counts

PROGRAM = Path(__file__).with_name("program.py")


class Process:
    """program.py, running."""

    def __init__(self, dsn: str, capacity: int, shutdown_seconds: float) -> None:
        arguments = [sys.executable, "-u", str(PROGRAM), dsn, str(capacity), str(shutdown_seconds)]
        self._process = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.said: list[str] = []
        self.logged: list[str] = []
        for pipe, lines in (
            (self._process.stdout, self.said),
            (self._process.stderr, self.logged),
        ):
            threading.Thread(target=self._read, args=(pipe, lines), daemon=True).start()

    def _read(self, pipe: Any, lines: list[str]) -> None:
        with pipe:
            lines.extend(line.rstrip() for line in pipe)

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def has_said(self, line: str) -> bool:
        return line in self.said

    def has_logged(self, part: str) -> bool:
        return any(part in line for line in self.logged)

    def end(self) -> int:
        return self._process.wait(PATIENCE)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture
def start(dsn: str) -> Iterator[Callable[[int, float], Process]]:
    processes: list[Process] = []

    def start(capacity: int, shutdown_seconds: float) -> Process:
        processes.append(Process(dsn, capacity, shutdown_seconds))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()


@pytest.fixture
def door(tmp_path: Path) -> Path:
    return tmp_path / "door"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_runs_may_finish_and_nothing_else_begins(
    client: Client, start: Callable[..., Process], door: Path, number: signal.Signals
) -> None:
    ids = [
        client.enqueue_job("mail", str(door), job_type=kind)
        for kind in ("sync", "async", "process")
    ]
    process = start(3, 60)
    for job_id in ids[:2]:
        wait_until(lambda job_id=job_id: process.has_said(f"begun {job_id}"))
    wait_until(lambda: client.get_job(ids[2]).progress)
    later = client.enqueue_job("mail", str(door), job_type="sync")
    process.send(number)
    wait_until(lambda: process.has_logged("stops, 3 jobs still run"))
    door.touch()
    assert process.end() == 0
    assert process.said[-1] == "returned"
    assert [str(client.get_job(job_id).state) for job_id in ids] == ["completed"] * 3
    assert client.get_job(later).worker_id is None


def test_what_does_not_finish_in_time_goes_back_without_costing_an_attempt(
    client: Client, start: Callable[..., Process], door: Path
) -> None:
    ids = [
        client.enqueue_job("mail", str(door), job_type=kind)
        for kind in ("sync", "async", "process")
    ]
    process = start(3, 0.1)
    for job_id in ids[:2]:
        wait_until(lambda job_id=job_id: process.has_said(f"begun {job_id}"))
    wait_until(lambda: client.get_job(ids[2]).progress)
    process.send(signal.SIGTERM)
    assert process.end() == 0
    assert process.has_said(f"interrupted {ids[1]}")
    assert process.has_logged(f"job {ids[0]} of queue mail goes back while its handler still runs")
    for job in map(client.get_job, ids):
        assert (job.state, job.attempt, job.error_message) == ("retry", 0, None)
    assert len(client.claim_job_batch("next", ["mail"])) == 3


def test_a_program_has_its_own_signal_handlers_again_after_a_run(dsn: str, client: Client) -> None:
    worker = Worker(dsn)
    worker.handler("mail")(lambda job: None)
    numbers = (signal.SIGTERM, signal.SIGINT)
    at_first = [signal.getsignal(number) for number in numbers]
    try:
        for handler in (signal.SIG_IGN, lambda number, frame: None):
            for number in numbers:
                signal.signal(number, handler)
            worker.run(burst=True)
            assert [signal.getsignal(number) for number in numbers] == [handler] * 2
    finally:
        for number, handler in zip(numbers, at_first, strict=True):
            signal.signal(number, handler)
    worker.run(burst=True)
    assert [signal.getsignal(number) for number in numbers] == at_first


def test_the_second_signal_ends_it_at_once(
    client: Client, start: Callable[..., Process], door: Path
) -> None:
    job_id = client.enqueue_job("mail", str(door), job_type="async")
    process = start(3, 3600)
    wait_until(lambda: process.has_said(f"begun {job_id}"))
    process.send(signal.SIGINT)
    wait_until(lambda: process.has_logged("stops, 1 jobs still run"))
    process.send(signal.SIGINT)
    assert process.end() == 0
    job = client.get_job(job_id)
    assert (job.state, job.attempt) == ("retry", 0)


def test_a_killed_worker_loses_no_job(
    client: Client, start: Callable[..., Process], door: Path
) -> None:
    client.update_queue("mail", lease=timedelta(seconds=1))
    job_id = client.enqueue_job("mail", str(door), job_type="sync")
    first, second = start(1, 0), start(1, 0)
    begun = f"begun {job_id}"
    wait_until(lambda: first.has_said(begun) or second.has_said(begun))
    victim, survivor = (first, second) if first.has_said(begun) else (second, first)
    victim.send(signal.SIGKILL)
    wait_until(lambda: survivor.has_said(begun))
    door.touch()
    wait_for_state(client, job_id, "completed")
    assert client.get_job(job_id).attempt == 2


def test_what_was_claimed_and_not_started_goes_back(
    dsn: str, client: Client, conn: psycopg.Connection[Any]
) -> None:
    """The claim waits for a lock when the worker is stopped, and then brings a job."""
    seen: list[int] = []
    worker = Worker(dsn)
    worker.handler("orders")(lambda job: seen.append(job.id))
    job_id = client.enqueue_job("orders", singleton_key="a")
    with running(worker) as it:
        conn.execute("begin; lock table pgbaton.lane in access exclusive mode")
        wait_until(lambda: waits_for_a_lock(dsn, "claim_job_batch"))
        it.stop()
        wait_until(lambda: [engine for engine in worker._engines if engine._stop.is_set()])
        conn.execute("rollback")
        it.join()
    job = client.get_job(job_id)
    assert (job.state, job.attempt, seen) == ("retry", 0, [])


@pytest.mark.parametrize("end", ["stopped", "cancelled"])
def test_a_job_whose_key_is_busy_does_not_start_after_the_end(
    dsn: str, client: Client, conn: psycopg.Connection[Any], end: str
) -> None:
    """The worker asks whether the other job of the key is still its own; the answer comes late."""
    seen: list[int] = []
    go_on = threading.Event()
    worker = Worker(dsn, shutdown_timeout=timedelta(minutes=1))

    @worker.handler("mail")
    def handle(job: RunningJob) -> None:
        seen.append(job.id)
        go_on.wait()

    first = client.enqueue_job("mail", singleton_key="a")
    with running(worker) as it:
        wait_until(lambda: seen == [first])
        conn.execute("begin; select from pgbaton.span where state = 'active' for update")
        second = client.enqueue_job("mail", singleton_key="a")
        wait_until(lambda: waits_for_a_lock(dsn, "extend_leases"))
        [engine] = worker._engines
        if end == "stopped":
            it.stop()
            wait_until(engine._stop.is_set)
        else:  # as a heartbeat does
            client.cancel_jobs(job_ids=[second])
            [run] = [run for run in engine.held.values() if run.job.id == second]
            engine._loop.call_soon_threadsafe(run.cancel, "cancelled")
            wait_until(lambda: run.cancel_reason)
        conn.execute("rollback")
        wait_for_state(client, second, "retry" if end == "stopped" else "stopped")
        go_on.set()
        wait_for_state(client, first, "completed")
    assert seen == [first]
    assert client.get_job(second).attempt == (0 if end == "stopped" else 1)


def test_a_worker_can_be_stopped_while_it_begins(
    dsn: str, client: Client, conn: psycopg.Connection[Any]
) -> None:
    worker = Worker(dsn)
    worker.handler("mail")(lambda job: None)
    conn.execute("begin; lock table pgbaton.worker in access exclusive mode")
    with running(worker) as it:
        wait_until(lambda: waits_for_a_lock(dsn, "worker_heartbeat"))
        it.stop()
        it.join()
    conn.execute("rollback")


def test_a_run_that_is_cancelled_while_it_begins_leaves_nothing_behind(
    dsn: str, client: Client, conn: psycopg.Connection[Any]
) -> None:
    worker = Worker(dsn)
    worker.handler("mail")(lambda job: None)
    conn.execute("begin; lock table pgbaton.worker in access exclusive mode")

    async def program() -> None:
        task = asyncio.create_task(worker.run_async())
        while not await asyncio.to_thread(waits_for_a_lock, dsn, "worker_heartbeat"):
            pass
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(program())
    conn.execute("rollback")
    assert client.list_workers() == []


def test_a_run_that_is_cancelled_again_leaves_no_process_and_no_connection(
    dsn: str, client: Client
) -> None:
    """The program would wait for the process when it ends, and the process for the program."""
    worker = Worker(dsn)
    worker.handler("mail", process=True)(process_handlers.work)
    job_id = client.enqueue_job("mail", "pid")

    async def program() -> None:
        task = asyncio.create_task(worker.run_async())
        await asyncio.to_thread(wait_for_state, client, job_id, "completed")
        [engine] = worker._engines
        has_begun, may_end = asyncio.Event(), asyncio.Event()

        async def end_slowly() -> None:  # as a call does whose server does not answer
            try:
                await asyncio.Event().wait()
            finally:
                has_begun.set()
                await may_end.wait()

        slow = asyncio.create_task(end_slowly())
        engine._beside.add(slow)
        task.cancel()
        await has_begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert engine._connection._connection is not None
        assert engine._connection._connection.closed
        assert engine._listener is not None
        assert not engine._listener.is_up
        may_end.set()
        await asyncio.wait([slow])

    asyncio.run(program())
    with pytest.raises(ProcessLookupError):
        os.kill(client.get_job(job_id).result, 0)


def waits_for_a_lock(dsn: str, what: str) -> bool:
    with psycopg.connect(dsn) as conn:
        found = conn.execute(
            "select from pg_stat_activity where datname = current_database()"
            " and wait_event_type = 'Lock' and query like %s",
            [f"%{what}%"],
        ).fetchone()
    return found is not None


def test_a_worker_that_stops_is_no_worker_any_more(
    dsn: str, client: Client, conn: psycopg.Connection[Any]
) -> None:
    worker = Worker(dsn, worker_id="leaving")
    worker.handler("mail")(lambda job: None)
    with running(worker) as it:
        wait_until(lambda: [w.asleep_at for w in client.list_workers()] not in ([], [None]))
        it.stop()
        it.join()
    assert client.list_workers() == []
    assert conn.execute("select from pgbaton.sleeper").fetchall() == []


@pytest.mark.parametrize("way", ["a lock", "a server that hangs"])
def test_it_ends_in_time_whatever_the_server_does(
    dsn: str, client: Client, conn: psycopg.Connection[Any], way: str
) -> None:
    worker = Worker(dsn, shutdown_timeout=timedelta(milliseconds=100))
    worker.handler("mail")(lambda job: None)
    backends: list[int] = []
    with running(worker) as it:
        wait_until(lambda: [w.asleep_at for w in client.list_workers()] not in ([], [None]))
        conn.execute("begin; lock table pgbaton.sleeper in access exclusive mode")
        try:
            [engine] = worker._engines
            engine._loop.call_soon_threadsafe(engine._work.set)
            wait_until(lambda: waits_for_a_lock(dsn, ""))
            if way != "a lock":
                backends += [
                    pid for (pid,) in conn.execute(
                        "select pid from pg_stat_activity where datname = current_database()"
                        " and wait_event_type = 'Lock' or application_name = 'pgbaton listener'"
                    )
                ]  # fmt: skip
                for pid in backends:
                    os.kill(pid, signal.SIGSTOP)
            it.stop()
            it.join()
        finally:
            for pid in backends:
                os.kill(pid, signal.SIGCONT)
            conn.execute("rollback")


def test_a_call_that_takes_too_long_is_made_again(
    dsn: str, client: Client, conn: psycopg.Connection[Any]
) -> None:
    worker = Worker(dsn, call_timeout=timedelta(milliseconds=200))
    worker.handler("mail")(lambda job: None)
    conn.execute("begin; lock table pgbaton.sleeper in access exclusive mode")
    with running(worker):
        wait_until(lambda: waits_for_a_lock(dsn, "wait_for_jobs"))
        wait_until(lambda: not waits_for_a_lock(dsn, "wait_for_jobs"))
        wait_until(lambda: waits_for_a_lock(dsn, "wait_for_jobs"))
        conn.execute("rollback")
        wait_for_state(client, client.enqueue_job("mail"), "completed")


def test_a_stop_before_the_first_run_ends_that_and_one_after_a_run_does_nothing(
    dsn: str, client: Client
) -> None:
    worker = Worker(dsn)
    worker.handler("mail")(lambda job: None)
    waiting = client.enqueue_job("mail")
    worker.stop()
    assert worker.run() == Counts()
    assert client.get_job(waiting).state == "pending"
    for _ in range(2):  # a worker may run again
        job_id = client.enqueue_job("mail")
        with running(worker):
            wait_for_state(client, job_id, "completed")
        worker.stop()


def test_a_thread_that_is_stopped_at_any_moment_of_its_start_ends(dsn: str) -> None:
    for number in range(20):
        worker = Worker(dsn)
        worker.handler("mail")(lambda job: None)
        it = Running(worker)
        time.sleep(number / 1000)  # any moment will do
        it.stop()
        it.join()


def test_a_stop_before_the_first_run_is_for_all_its_parts(dsn: str, client: Client) -> None:
    client.create_queue("post")
    worker = Worker(dsn, queue_capacity={"post": 1})
    for queue in ("mail", "post"):
        worker.handler(queue)(lambda job: None)
    worker.stop(now=True)
    client.enqueue_job("post")
    assert worker.run(burst=True) == Counts()


def test_a_worker_runs_once_at_a_time(dsn: str, client: Client) -> None:
    worker = Worker(dsn)
    worker.handler("mail")(lambda job: None)
    with running(worker):
        wait_until(lambda: worker._engines)
        with pytest.raises(ValueError, match="runs already"):
            asyncio.run(worker.run_async())


def test_a_cancelled_run_gives_its_jobs_back(dsn: str, client: Client) -> None:
    """run_async inside another program, which ends its tasks in its own way."""
    begun = asyncio.Event()
    worker = Worker(dsn)

    @worker.handler("mail")
    async def handle(job: RunningJob) -> None:
        begun.set()
        await asyncio.Event().wait()

    job_id = client.enqueue_job("mail")

    async def program() -> None:
        task = asyncio.create_task(worker.run_async())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(program())
    job = client.get_job(job_id)
    assert (job.state, job.attempt) == ("retry", 0)
