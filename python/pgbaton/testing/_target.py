"""One way to speak to a client, whether it blocks or not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from pgbaton._async.connections import ForeignConnection as AsyncForeignConnection
from pgbaton._producers import producer_of
from pgbaton._sync.connections import ForeignConnection
from pgbaton.client import AsyncClient, Client

T = TypeVar("T")


class Target:
    """A client. Of one that blocks, nothing is ever waited for."""

    def __init__(self, client: Client | AsyncClient) -> None:
        self._client = client
        self.is_async = isinstance(client, AsyncClient)

    async def call(self, function: str, *args: Any, **named: Any) -> Any:
        answer = getattr(self._client, function)(*args, **named)
        return await answer if self.is_async else answer

    async def rows(self, statement: LiteralString) -> list[Any]:
        if isinstance(self._client, AsyncClient):
            async with self._client._pool.connection() as connection:
                if isinstance(connection, AsyncForeignConnection):
                    return await connection.fetch(statement)
                async with psycopg.AsyncCursor(connection, row_factory=tuple_row) as cursor:
                    await cursor.execute(statement)
                    return await cursor.fetchall() if cursor.description else []
        with self._client._pool.connection() as lent:
            if isinstance(lent, ForeignConnection):
                return lent.fetch(statement)
            with psycopg.Cursor(lent, row_factory=tuple_row) as plain:
                plain.execute(statement)
                return plain.fetchall() if plain.description else []

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """One in the transaction that is open, else nothing."""
        pool = self._client._pool
        lender: Any = getattr(pool, "_lender", None) or getattr(pool, "_connection", None)
        if hasattr(pool, "savepoint"):  # Django's
            block = pool.savepoint()
        elif hasattr(lender, "begin_nested"):
            block = lender.begin_nested()
        elif isinstance(lender, psycopg.Connection | psycopg.AsyncConnection):
            is_idle = lender.info.transaction_status == TransactionStatus.IDLE
            block = None if is_idle else lender.transaction()
        elif lender is not None and lender.is_in_transaction():  # asyncpg's
            block = lender.transaction()
        else:
            block = None
        if block is None:
            yield
        elif self.is_async:
            async with block:
                yield
        else:
            with block:
                yield


def target_of(to: Any) -> Target:
    client = producer_of(to)
    if not isinstance(client, Client | AsyncClient):
        raise TypeError(f"pass a client, connection or session, not {to!r:.100}")
    return Target(client)


def answer(to: Any, work: Coroutine[Any, Any, T]) -> Any:
    """What the work returns, to be awaited if its target is asynchronous."""
    return work if target_of(to).is_async else done(work)


def done(work: Coroutine[Any, Any, T]) -> T:
    """Runs work that waits for nothing, without an event loop."""
    try:
        work.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    work.close()
    raise RuntimeError("it waits for something: await it, with an AsyncClient")
