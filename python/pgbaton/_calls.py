"""How a call reaches the server: as the only SQL that this package sends.

`select * from pgbaton.name(parameter => value, ...)`, with the parameters that were given and no
others, so that defaults are the server's. Results come in binary form, which does not depend on
the DateStyle and IntervalStyle of the session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any, Protocol, TypeVar

import psycopg
from psycopg.rows import tuple_row

from pgbaton import install
from pgbaton._arguments import Argument
from pgbaton.errors import IncompatibleServer, typed
from pgbaton.models import R, read_rows

T = TypeVar("T")
Rows = list[tuple[Any, ...]]
Required = Mapping[str, Argument]


class Pool(Protocol):
    """What a client needs of a pool; psycopg_pool.ConnectionPool has it."""

    def connection(self) -> AbstractContextManager[psycopg.Connection[Any]]:
        """Lends a connection for a call and commits it afterwards."""
        ...


class OwnConnection:
    """One connection in autocommit mode, opened by the first call and again once it was lost."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: psycopg.Connection[Any] | None = None
        self._lock = Lock()

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        yield self._open()

    def _open(self) -> psycopg.Connection[Any]:
        with self._lock:
            if self._connection is None or self._connection.closed:
                # Prepared statements would not survive a PgBouncer that knows nothing of them.
                self._connection = psycopg.connect(
                    self._dsn,
                    autocommit=True,
                    prepare_threshold=None,
                    fallback_application_name="pgbaton",
                )
            return self._connection

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()


class BorrowedConnection:
    """A connection of the caller's: never committed, rolled back or closed here."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        yield self._connection


def as_it_is(value: Any) -> Any:
    """Reads a value that may be None, or is what psycopg makes of it."""
    return value


@lru_cache
def statement(function: str, parameters: tuple[str, ...]) -> bytes:
    arguments = ", ".join(f"{name} => %({name})s" for name in parameters)
    # Both are names in this package's own source.
    return f"select * from pgbaton.{function}({arguments})".encode()  # noqa: S608


class Caller:
    """Calls functions of one database; `required` arguments are sent, others unless None."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._closed = False
        self._is_checked = False

    def _rows(
        self, kind: type[R], function: str, required: Required, **optional: Argument
    ) -> list[R]:
        columns, rows = self._call(function, required, optional)
        return read_rows(kind, columns, rows)

    def _row(self, kind: type[R], function: str, required: Required, **optional: Argument) -> R:
        return self._rows(kind, function, required, **optional)[0]

    def _values(
        self, read: Callable[[Any], T], function: str, required: Required, **optional: Argument
    ) -> list[T]:
        return [read(value) for (value,) in self._call(function, required, optional)[1]]

    def _value(
        self, read: Callable[[Any], T], function: str, required: Required, **optional: Argument
    ) -> T:
        return self._values(read, function, required, **optional)[0]

    def _run(self, function: str, required: Required, **optional: Argument) -> None:
        self._call(function, required, optional)

    def _call(
        self, function: str, required: Required, optional: Required
    ) -> tuple[list[str], Rows]:
        given = {name: value for name, value in optional.items() if value is not None}
        if self._closed:
            raise psycopg.InterfaceError("the client is closed")
        with self._pool.connection() as connection:
            if not self._is_checked:
                _check_version(connection)
                self._is_checked = True
            return _execute(connection, function, {**required, **given})


def _execute(
    connection: psycopg.Connection[Any], function: str, given: Required
) -> tuple[list[str], Rows]:
    # A cursor of our own kind, whatever the caller's connection makes.
    with psycopg.Cursor(connection, row_factory=tuple_row) as cursor:
        try:
            cursor.execute(statement(function, tuple(given)), given, binary=True)
            return [column.name for column in cursor.description or ()], cursor.fetchall()
        except psycopg.Error as error:
            ours = typed(error)
            if ours is error:
                raise
            raise ours from error


def _check_version(connection: psycopg.Connection[Any]) -> None:
    try:
        [(theirs,)] = _execute(connection, "version", {})[1]
    except (psycopg.errors.InvalidSchemaName, psycopg.errors.UndefinedFunction) as error:
        raise IncompatibleServer(
            "pgbaton is not installed in this database: run pgbaton install --dsn"
        ) from error
    ours = install.version()
    if _series(theirs) != _series(ours):
        raise IncompatibleServer(
            f"the database has pgbaton {theirs}, which this package, {ours}, does not work with"
        )


def _series(version: str) -> list[str]:
    """The part of a version that client and server must have in common."""
    parts = version.split(".")
    return parts[:2] if parts[0] == "0" else parts[:1]
