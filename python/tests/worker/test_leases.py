"""Leases: held while handlers run, and what happens when one is lost all the same."""

from __future__ import annotations

import asyncio
import logging
import threading
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from workers import running, wait_for_state, wait_until

from pgbaton import Client, RunningJob, Worker

SECOND = timedelta(seconds=1)


class Gate:
    """A handler that counts who is in it, and lets them out when it is told to."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.inside: list[int] = []
        self.entered: list[int] = []
        self.most_at_once = 0

    def __call__(self, job: RunningJob) -> None:
        self._enter(job)
        self.opened.wait()
        self.inside.remove(job.id)

    async def wait_async(self, job: RunningJob) -> None:
        self._enter(job)
        try:
            while not self.opened.is_set():
                await asyncio.sleep(0.01)
        finally:
            self.inside.remove(job.id)

    def _enter(self, job: RunningJob) -> None:
        self.inside.append(job.id)
        self.entered.append(job.id)
        self.most_at_once = max(self.most_at_once, len(self.inside))


@pytest.fixture
def gate() -> Any:
    gate = Gate()
    yield gate
    gate.opened.set()


@pytest.mark.parametrize(("kind", "lease"), [("sync", None), ("async", SECOND)])
def test_a_lease_outlasts_the_handler(
    dsn: str, client: Client, gate: Gate, kind: str, lease: timedelta | None
) -> None:
    """Two leases long, while another worker would take what is free."""
    client.create_queue("short", lease=timedelta(minutes=5) if lease else SECOND)
    worker = Worker(dsn, lease=lease)
    worker.handler("short")(gate if kind == "sync" else gate.wait_async)
    job_id = client.enqueue_job("short")
    with running(worker):
        wait_for_state(client, job_id, "active")
        first = client.get_job(job_id).lease_until
        assert first is not None
        later = first + 2 * SECOND
        wait_until(lambda: client.get_job(job_id).lease_until > later)
        assert client.claim_job_batch("thief", ["short"]) == []
        gate.opened.set()
        wait_for_state(client, job_id, "completed")
    assert client.get_job(job_id).attempt == 1


def test_a_thread_that_never_ends_is_given_up_after_its_timeout(
    dsn: str, client: Client, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    client.create_queue("short", lease=SECOND, max_attempts=1)
    worker = Worker(dsn, shutdown_timeout=timedelta(0))
    worker.handler("short", timeout=SECOND)(gate)
    job_id = client.enqueue_job("short")
    with running(worker), caplog.at_level(logging.WARNING, "pgbaton.worker"):
        wait_until(lambda: client.run_maintenance() and client.get_job(job_id).state == "failed")
    assert "runs longer than 0:00:01" in caplog.text
    assert client.get_job(job_id).attempt == 1


def test_leases_that_are_over_are_forgotten(dsn: str, client: Client) -> None:
    """Also when no job runs so long that its lease has to be extended."""
    worker = Worker(dsn, batch_size=1)
    known: list[int] = []

    @worker.handler("mail")
    async def handle(job: RunningJob) -> None:
        await asyncio.sleep(0.01)
        [engine] = worker._engines
        known.append(len(engine._tender._leases._due_of))

    client.enqueue_batch("mail", range(50))
    with running(worker):
        wait_until(lambda: client.queue_stats("mail")[0].completed == 50)
    assert max(known) <= 2 * 10  # its capacity, before and after the latest look


def take_away(client: Client, job_id: int) -> None:
    """As an operator would, who believes that the worker is dead."""
    worker_id = client.get_job(job_id).worker_id
    assert worker_id is not None
    assert client.mark_worker_unresponsive(worker_id) == 1


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_the_next_job_of_a_key_waits_for_a_handler_that_lost_its_lease(
    dsn: str, client: Client, gate: Gate, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The server gives the job again, to the very worker that still runs it."""
    worker = Worker(dsn)
    worker.handler("orders")(gate if kind == "sync" else gate.wait_async)
    first, second = client.enqueue_batch("orders", [1, 2], ["a", "a"])
    with running(worker), caplog.at_level(logging.WARNING, "pgbaton.worker"):
        wait_until(lambda: gate.inside == [first])
        take_away(client, first)
        if kind == "sync":
            wait_until(lambda: "still runs its key" in caplog.text)
            assert gate.entered == [first]
        else:  # it is interrupted, and runs again
            wait_until(lambda: len(gate.entered) == 2)
        gate.opened.set()
        for job_id in (first, second):
            wait_for_state(client, job_id, "completed")
    assert gate.most_at_once == 1
    assert gate.entered == [first, first, second]
    assert "was lost: its outcome is dropped" in caplog.text


def test_two_workers_of_one_process_mind_each_others_keys(
    dsn: str, client: Client, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    """One lost its lease and cannot claim; the other one is given the job."""
    busy, other = Worker(dsn, capacity=1), Worker(dsn, capacity=1)
    for worker in (busy, other):
        worker.handler("orders")(gate)
    first, second = client.enqueue_batch("orders", [1, 2], ["a", "a"])
    with running(busy), caplog.at_level(logging.WARNING, "pgbaton.worker"):
        wait_until(lambda: gate.inside == [first])
        with running(other):
            take_away(client, first)
            wait_until(lambda: "still runs its key" in caplog.text)
            gate.opened.set()
            for job_id in (first, second):
                wait_for_state(client, job_id, "completed")
    assert gate.most_at_once == 1


def test_keys_mean_nothing_in_a_standard_queue(dsn: str, client: Client, gate: Gate) -> None:
    worker = Worker(dsn)
    worker.handler("mail")(gate)
    ids = client.enqueue_batch("mail", [1, 2, 3], ["a", "a", "a"])
    with running(worker):
        wait_until(lambda: len(gate.inside) == 3)
        gate.opened.set()
        for job_id in ids:
            wait_for_state(client, job_id, "completed")
    assert [client.get_job(job_id).attempt for job_id in ids] == [1, 1, 1]


def test_jobs_of_one_key_run_one_at_a_time_in_order(dsn: str, client: Client) -> None:
    inside: set[str] = set()
    seen: dict[str, list[int]] = {}
    overlaps: list[int] = []
    worker = Worker(dsn, capacity=20)

    @worker.handler("orders")
    async def handle(job: RunningJob) -> None:
        assert job.singleton_key is not None
        if job.singleton_key in inside:
            overlaps.append(job.id)
        inside.add(job.singleton_key)
        for _ in range(5):
            await asyncio.sleep(0)
        seen.setdefault(job.singleton_key, []).append(job.payload)
        inside.discard(job.singleton_key)

    keys = [f"key {n % 7}" for n in range(140)]
    client.enqueue_batch("orders", range(140), keys)
    with running(worker):
        wait_until(lambda: client.queue_stats("orders")[0].completed == 140)
    assert overlaps == []
    assert seen == {f"key {k}": list(range(k, 140, 7)) for k in range(7)}


def held(conn: psycopg.Connection[Any]) -> int:
    row = conn.execute(
        "select coalesce(sum(hi - lo + 1), 0) from pgbaton.span where state = 'active'"
    ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("capacity", [1, 3])
def test_a_worker_never_holds_more_than_its_capacity(
    dsn: str, client: Client, conn: psycopg.Connection[Any], gate: Gate, capacity: int
) -> None:
    worker = Worker(dsn, capacity=capacity)
    worker.handler("mail")(gate)
    client.enqueue_batch("mail", range(20))
    with running(worker):
        wait_until(lambda: len(gate.inside) == capacity)
        assert held(conn) == capacity
        gate.opened.set()
        seen: list[int] = []
        wait_until(lambda: seen.append(held(conn)) or client.queue_stats("mail")[0].completed == 20)
    assert max(seen) <= capacity
    assert gate.most_at_once == capacity


def test_no_two_jobs_of_a_key_run_at_once_whatever_is_taken_away(dsn: str, client: Client) -> None:
    """Three workers of one process lose their leases again and again while threads run."""
    client.create_fifo_queue("chaos", max_attempts=None)
    inside: set[str | None] = set()
    overlaps: list[int] = []
    runs: list[int] = []
    lock = threading.Lock()

    def handle(job: RunningJob) -> None:
        with lock:
            runs.append(job.id)
            if job.singleton_key in inside:
                overlaps.append(job.id)
            inside.add(job.singleton_key)
        threading.Event().wait(0.05)
        with lock:
            inside.discard(job.singleton_key)

    ids = client.enqueue_batch("chaos", range(60), [f"key {n % 6}" for n in range(60)])
    workers = [Worker(dsn, capacity=4) for _ in range(3)]
    for worker in workers:
        worker.handler("chaos")(handle)
    with running(workers[0]), running(workers[1]), running(workers[2]):
        for n in range(10):
            wait_until(lambda n=n: len(runs) > 3 * n)
            client.mark_worker_unresponsive(workers[n % 3].worker_id)
        wait_until(lambda: client.queue_stats("chaos")[0].completed == len(ids))
    assert overlaps == []
