"""The asynchronous client: its three ways to a connection. The calls are those of Client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from pgbaton import AsyncClient, Client, IncompatibleServer, LeaseLost, UnknownQueue


@pytest.fixture
def client(dsn: str) -> Any:
    with Client(dsn) as client:
        client.create_queue("mail")
        yield client


def jobs_of(client: Client) -> int:
    return client.get_job_stats().total_jobs


async def with_dsn(dsn: str) -> None:
    async with AsyncClient(dsn) as client:
        ids = await asyncio.gather(*(client.enqueue_job("mail", n) for n in range(20)))
        assert len(set(ids)) == 20
        [first] = await client.claim_job_batch("w", batch_size=1)
        with pytest.raises(LeaseLost):
            await client.complete_job(first.id, lease_token=first.lease_token + 1)
        await client.complete_job(first.id, lease_token=first.lease_token)
        with pytest.raises(UnknownQueue) as caught:
            await client.enqueue_job("nope")
        assert caught.value.hint
    with pytest.raises(psycopg.InterfaceError, match="closed"):
        await client.version()


async def with_a_connection(dsn: str) -> None:
    async with await psycopg.AsyncConnection.connect(dsn) as own:
        borrower = AsyncClient(connection=own)
        await borrower.enqueue_batch("mail", range(20))
        await own.rollback()
        await borrower.enqueue_batch("mail", range(20))
        await borrower.close()


async def with_a_pool(dsn: str) -> None:
    async with (
        AsyncConnectionPool(dsn, min_size=2, max_size=2) as pool,
        AsyncClient(pool=pool) as client,
    ):
        await asyncio.gather(*(client.enqueue_job("mail", n) for n in range(20)))


@pytest.mark.parametrize("way", [with_dsn, with_a_connection, with_a_pool])
def test_a_way_to_a_connection(
    client: Client, dsn: str, way: Callable[[str], Awaitable[None]]
) -> None:
    asyncio.run(way(dsn))  # type: ignore[arg-type]
    assert jobs_of(client) == 20


def test_a_lost_connection_is_opened_again_by_the_next_call(client: Client, dsn: str) -> None:
    async def lose() -> None:
        async with AsyncClient(dsn) as lost:
            await lost.version()
            with psycopg.connect(dsn, autocommit=True) as killer:
                killer.execute(
                    "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
                    " where datname = current_database() and pid <> pg_backend_pid()"
                )
            with pytest.raises(psycopg.OperationalError):
                await lost.version()
            await lost.enqueue_job("mail")

    client.close()
    asyncio.run(lose())
    with Client(dsn) as again:
        assert jobs_of(again) == 1


def test_a_client_takes_exactly_one_way(dsn: str) -> None:
    with pytest.raises(TypeError, match="AsyncClient takes exactly one"):
        AsyncClient()


def test_a_database_without_pgbaton_is_named_as_such(empty_dsn: str) -> None:
    async def ask() -> None:
        async with AsyncClient(empty_dsn) as client:
            with pytest.raises(IncompatibleServer, match="pgbaton install"):
                await client.list_queues()

    asyncio.run(ask())
