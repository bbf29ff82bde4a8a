"""A client where the database's default is REPEATABLE READ or SERIALIZABLE: as anywhere else."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgbaton import AsyncClient, Client, UnknownQueue, Worker

LEVELS = ["repeatable read", "serializable", "read uncommitted"]


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
