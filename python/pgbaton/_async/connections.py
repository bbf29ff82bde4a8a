"""Connections of the caller's that a client joins: never committed, rolled back or closed here."""

from __future__ import annotations

from asyncio import Lock
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import psycopg

from pgbaton import _foreign
from pgbaton._calls import Required, Rows

if TYPE_CHECKING:
    from pgbaton._foreign import AsyncForeign


class BorrowedConnection:
    """A connection of psycopg."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        yield self._connection


class ForeignConnection:
    """A connection or session of SQLAlchemy, or another driver's connection."""

    def __init__(self, lender: Any) -> None:
        self._lender = lender
        self._lock = Lock()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[ForeignConnection]:
        async with self._lock:
            yield self

    async def driver(self) -> object:
        """What stays the same while the connection to the server does."""
        raise NotImplementedError

    async def call(
        self, function: str, given: Required, kind: type[Any] | None
    ) -> tuple[list[str], Rows]:
        try:
            answers = await self._answers(function, given)
        except Exception as error:
            ours = _foreign.translated(error)
            if ours is None:
                raise
            raise ours from None
        return _foreign.rows(function, kind, answers)

    async def fetch(self, statement: str) -> list[Any]:
        """The rows of a statement without parameters; none if it returns none."""
        raise NotImplementedError

    async def _answers(self, function: str, given: Required) -> list[str | None]:
        raise NotImplementedError


class SqlAlchemyConnection(ForeignConnection):
    """SQLAlchemy sends the call, since it begins a transaction with what it sends itself."""

    async def driver(self) -> object:
        connection = await self._connection()
        _foreign.check_dialect(connection.dialect.name)
        return _foreign.driver_of(connection)

    async def _answers(self, function: str, given: Required) -> list[str | None]:
        connection = await self._connection()
        result = await connection.execute(*_foreign.text_clause(function, given))
        return list(result.scalars())

    async def fetch(self, statement: str) -> list[Any]:
        connection = await self._connection()
        result = await connection.execute(_foreign.plain(statement))
        return list(result) if result.returns_rows else []

    async def _connection(self) -> Any:
        """A session may have another one in its next transaction."""
        is_session = _foreign.is_session(self._lender)
        return await self._lender.connection() if is_session else self._lender


class AsyncpgConnection(ForeignConnection):  # async only
    """asyncpg, without SQLAlchemy between."""  # async only

    async def driver(self) -> object:  # async only
        return getattr(self._lender, "_con", self._lender)  # async only

    async def fetch(self, statement: str) -> list[Any]:  # async only
        return list(await self._lender.fetch(statement))  # async only

    async def _answers(self, function: str, given: Required) -> list[str | None]:  # async only
        statement = _foreign.statement(function, tuple(given), True)  # async only
        rows = await self._lender.fetch(statement, *_foreign.texts(given))  # async only
        return [row[0] for row in rows]  # async only


def joined(
    connection: psycopg.AsyncConnection[Any] | AsyncForeign,
) -> BorrowedConnection | ForeignConnection:
    """How to call over this connection; a TypeError that says what to do if there is no way."""
    if isinstance(connection, psycopg.AsyncConnection):
        return BorrowedConnection(connection)
    if _foreign.is_one_of(connection, "sqlalchemy", _foreign.SQLALCHEMY["AsyncClient"]):
        return SqlAlchemyConnection(connection)
    if _foreign.is_of_asyncpg(connection):  # async only
        return AsyncpgConnection(connection)  # async only
    raise TypeError(_foreign.refusal("AsyncClient", connection))
