"""A client where the database's default is REPEATABLE READ or SERIALIZABLE: as anywhere else."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgbaton import AsyncClient, Client, UnknownQueue, Worker

LEVELS = ["repeatable read", "serializable", "read uncommitted"]


class Alarm(Exception):
    """Raised by a signal handler, wherever the program is: as by a limit of time for a request."""


@contextmanager
def alarm_after(seconds: float) -> Iterator[None]:
    def ring(number: int, frame: object) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def is_waited_for(conn: psycopg.Connection[Any]) -> bool:
    """Whether somebody waits for a lock of this database."""
    waiting = conn.execute(
        "select 1 from pg_stat_activity"
        " where datname = current_database() and wait_event_type = 'Lock'"
    )
    return waiting.fetchone() is not None


@pytest.fixture(params=LEVELS)
def other_dsn(request: pytest.FixtureRequest, dsn: str) -> str:
    level = request.param.replace(" ", r"\ ")
    return make_conninfo(dsn, options=f"-c default_transaction_isolation={level}")


def test_calls_of_several_threads_are_transactions_of_their_own(other_dsn: str) -> None:
    with Client(other_dsn) as client:
        client.create_queue("mail")
        with pytest.raises(UnknownQueue):
            client.enqueue_job("none")
        with client._own.connection() as connection:  # type: ignore[union-attr]
            assert connection.execute("show transaction_isolation").fetchone() == (
                "read committed",
            )
        with ThreadPoolExecutor(4) as pool:
            ids = list(pool.map(lambda n: client.enqueue_job("mail", n), range(100)))
        assert len(set(ids)) == 100
        with Client(other_dsn) as another:
            assert len(another.claim_job_batch("w", ["mail"], batch_size=200)) == 100


def test_a_first_call_that_is_interrupted_leaves_no_half_made_connection(
    other_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with Client(other_dsn) as client:
        with monkeypatch.context() as patch:
            patch.setattr(psycopg.Connection, "set_isolation_level", interrupted)
            with pytest.raises(KeyboardInterrupt):
                client.list_queues()
        with client._own.connection() as connection:  # type: ignore[union-attr]
            shown = connection.execute("show transaction_isolation").fetchone()
        assert shown == ("read committed",)


@pytest.mark.parametrize("level", ["read committed", "serializable"])
def test_a_call_that_a_signal_interrupts_does_not_spoil_the_next_one(
    dsn: str, conn: psycopg.Connection[Any], level: str
) -> None:
    """psycopg takes the answer after KeyboardInterrupt, if it is not interrupted then; else not."""
    escaped = level.replace(" ", r"\ ")
    own_dsn = make_conninfo(dsn, options=f"-c default_transaction_isolation={escaped}")
    with Client(own_dsn) as client:
        client.create_queue("mail")
        with conn.transaction(force_rollback=True):
            conn.execute("lock table pgbaton.queue")
            with pytest.raises(Alarm), alarm_after(0.5):
                client.list_queues()
        job_id = client.enqueue_job("mail")
        assert conn.execute("select id from pgbaton.jobs").fetchall() == [(job_id,)]


def test_a_task_that_is_cancelled_twice_does_not_spoil_the_next_call(
    dsn: str, conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second time while psycopg waits for the end of the statement that it has cancelled."""

    async def ignored(*_: object, **__: object) -> None:
        await asyncio.sleep(60)

    async def story() -> int:
        async with AsyncClient(dsn) as client:
            await client.create_queue("mail")
            with conn.transaction(force_rollback=True):
                conn.execute("lock table pgbaton.queue")
                task = asyncio.create_task(client.list_queues())
                while not is_waited_for(conn):
                    await asyncio.sleep(0.01)
                monkeypatch.setattr(psycopg.AsyncConnection, "_try_cancel", ignored)
                for _ in range(2):
                    task.cancel()
                    await asyncio.sleep(0.05)
                assert task.cancelled()
            return await client.enqueue_job("mail")

    job_id = asyncio.run(story())
    assert conn.execute("select id from pgbaton.jobs").fetchall() == [(job_id,)]


def test_tasks_share_a_client(other_dsn: str) -> None:
    async def enqueue() -> int:
        async with AsyncClient(other_dsn) as client:
            await client.create_queue("mail")
            ids = await asyncio.gather(*(client.enqueue_job("mail", n) for n in range(50)))
        return len(set(ids))

    assert asyncio.run(enqueue()) == 50


def test_workers_beside_each_other_do_not_fail(
    other_dsn: str, conn: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    with Client(other_dsn) as client:
        client.create_fifo_queue("orders")
        client.enqueue_batch("orders", range(200), [f"k{n % 20}" for n in range(200)])
    workers = [Worker(other_dsn) for _ in range(3)]
    done: list[Any] = []
    for worker in workers:
        worker.handler("orders")(lambda job: done.append(job.payload))
    with (
        caplog.at_level(logging.WARNING, "pgbaton.worker"),
        ThreadPoolExecutor(len(workers)) as pool,
    ):
        running = [pool.submit(worker.run, burst=True) for worker in workers]
        for run in running:
            run.result(timeout=60)
    assert sorted(done) == list(range(200))
    assert not caplog.records
