"""Calls with the rights of who makes them, and no more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import psycopg
from psycopg import sql
from psycopg_pool import AsyncConnectionPool

from pgbaton._async.client import AsyncClient
from pgbaton._calls import JsonTextLoader
from pgbaton._listening.listener import watchful
from pgbaton.http._settings import Caller, Settings

PATIENCE = 5.0
"""Seconds that a request waits for a connection."""


class Pool(AsyncConnectionPool[psycopg.AsyncConnection[Any]]):
    """When a connection is lost, it looks at the idle ones, so that no other request meets that."""

    @asynccontextmanager
    async def connection(
        self, timeout: float | None = None
    ) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        async with super().connection(timeout) as connection:
            try:
                yield connection
            except psycopg.OperationalError:
                if connection.closed:
                    await self.check()
                raise


def pool_of(settings: Settings) -> Pool:
    return Pool(
        watchful(settings.dsn),
        min_size=1,
        max_size=settings.connections,
        timeout=PATIENCE,
        open=False,
        kwargs={
            "autocommit": True,
            "prepare_threshold": None,
            "client_encoding": "UTF8",
            "fallback_application_name": "pgbaton serve",
        },
    )


def set_role(role: str) -> sql.Composed:
    """Until the end of the transaction."""
    return sql.SQL("set local role {}").format(sql.Identifier(role))


class RolePool:
    """Lends connections for a transaction in which a role is set."""

    def __init__(self, pool: Pool, role: str | None) -> None:
        self._pool = pool
        self._role = role

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        async with self._pool.connection() as connection:
            if self._role is None:
                yield connection
                return
            async with connection.transaction():
                await connection.execute(set_role(self._role))
                yield connection


class TextClient(AsyncClient):
    """Payloads, results and headers pass through as the text that the database sent."""

    _jsonb_loader = JsonTextLoader


class Clients:
    """One client for each role."""

    def __init__(self, settings: Settings) -> None:
        self.pool = pool_of(settings)
        self._clients: dict[str | None, AsyncClient] = {}

    def of(self, caller: Caller) -> AsyncClient:
        if caller.role not in self._clients:
            self._clients[caller.role] = TextClient(pool=self.pool_of(caller))
        return self._clients[caller.role]

    def pool_of(self, caller: Caller) -> RolePool:
        return RolePool(self.pool, caller.role)

    async def clock_of(self, caller: Caller) -> datetime:
        """What time it is in the database."""
        async with self.pool_of(caller).connection() as connection:
            cursor = await connection.execute("select clock_timestamp()")
            [(now,)] = await cursor.fetchall()
            assert isinstance(now, datetime)
            return now
