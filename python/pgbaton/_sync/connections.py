# Written by make sync from _async: change it there.
"""Connections of the caller's that a client joins: never committed, rolled back or closed here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

import psycopg

from pgbaton import _foreign
from pgbaton._calls import Required, Rows

if TYPE_CHECKING:
    from pgbaton._foreign import Foreign


class BorrowedConnection:
    """A connection of psycopg."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        yield self._connection


class ForeignConnection:
    """A connection or session of SQLAlchemy, or another driver's connection."""

    def __init__(self, lender: Any) -> None:
        self._lender = lender
        self._lock = Lock()

    @contextmanager
    def connection(self) -> Iterator[ForeignConnection]:
        with self._lock:
            yield self

    def driver(self) -> object:
        """What stays the same while the connection to the server does."""
        raise NotImplementedError

    def call(
        self, function: str, given: Required, kind: type[Any] | None
    ) -> tuple[list[str], Rows]:
        try:
            answers = self._answers(function, given)
        except Exception as error:
            ours = _foreign.translated(error)
            if ours is None:
                raise
            raise ours from None
        return _foreign.rows(function, kind, answers)

    def fetch(self, statement: str) -> list[Any]:
        """The rows of a statement without parameters; none if it returns none."""
        raise NotImplementedError

    def _answers(self, function: str, given: Required) -> list[str | None]:
        raise NotImplementedError


class SqlAlchemyConnection(ForeignConnection):
    """SQLAlchemy sends the call, since it begins a transaction with what it sends itself."""

    def driver(self) -> object:
        connection = self._connection()
        _foreign.check_dialect(connection.dialect.name)
        return _foreign.driver_of(connection)

    def _answers(self, function: str, given: Required) -> list[str | None]:
        connection = self._connection()
        result = connection.execute(*_foreign.text_clause(function, given))
        return list(result.scalars())

    def fetch(self, statement: str) -> list[Any]:
        connection = self._connection()
        result = connection.execute(_foreign.plain(statement))
        return list(result) if result.returns_rows else []

    def _connection(self) -> Any:
        """A session may have another one in its next transaction."""
        is_session = _foreign.is_session(self._lender)
        return self._lender.connection() if is_session else self._lender


def joined(
    connection: psycopg.Connection[Any] | Foreign,
) -> BorrowedConnection | ForeignConnection:
    """How to call over this connection; a TypeError that says what to do if there is no way."""
    if isinstance(connection, psycopg.Connection):
        return BorrowedConnection(connection)
    if _foreign.is_one_of(connection, "sqlalchemy", _foreign.SQLALCHEMY["Client"]):
        return SqlAlchemyConnection(connection)
    raise TypeError(_foreign.refusal("Client", connection))
