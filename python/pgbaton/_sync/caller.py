# Written by make sync from _async: change it there.
"""How a call reaches the server: over a connection of the client's, the user's, or of a pool."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Lock
from typing import Any, Protocol, TypeAlias, TypeVar

import psycopg
from psycopg.adapt import Loader
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from pgbaton import _calls
from pgbaton._arguments import Argument
from pgbaton._calls import Required, Rows
from pgbaton._codec import Encode, Encoder
from pgbaton._sync.connections import ForeignConnection
from pgbaton.errors import IncompatibleServer, typed
from pgbaton.models import R, read_rows

T = TypeVar("T")
Context: TypeAlias = AbstractContextManager[object]
NOTHING = nullcontext()


class Pool(Protocol):
    """What a client needs of a pool; psycopg_pool.ConnectionPool has it."""

    def connection(self) -> AbstractContextManager[psycopg.Connection[Any]]:
        """Lends a connection for a call and commits it afterwards."""
        ...


class OwnConnection:
    """One connection in autocommit mode, opened by the first call and again once it was lost.

    A call is a transaction of its own, under READ COMMITTED whatever the default of the database
    is: a higher level could only make it fail with 40001.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: psycopg.Connection[Any] | None = None
        self._lock = Lock()
        self._turn = Lock()
        self._has_other_default = False
        self._pid = os.getpid()

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        connection = self._open()
        turn: Context = self._turn if self._has_other_default else NOTHING  # one after the other
        with turn:
            try:
                with connection.transaction() if self._has_other_default else NOTHING:
                    yield connection
            except BaseException as error:
                if not isinstance(error, psycopg.Error) or error.sqlstate is None:
                    self._drop_if_stuck(connection)
                raise

    def _drop_if_stuck(self, connection: psycopg.Connection[Any]) -> None:
        """Who was interrupted may leave an answer that nobody takes, or a transaction."""
        if not connection.lock.locked():  # else somebody is at it, and would notice
            with connection.lock:
                if connection.pgconn.transaction_status != TransactionStatus.IDLE:
                    connection.close()

    def _open(self) -> psycopg.Connection[Any]:
        self._enter_process()
        with self._lock:
            if self._connection is None or self._connection.closed:
                # Prepared statements would not survive a PgBouncer that knows nothing of them.
                self._connection = psycopg.Connection.connect(
                    self._dsn,
                    autocommit=True,
                    prepare_threshold=None,
                    client_encoding="UTF8",
                    fallback_application_name="pgbaton",
                )
                try:
                    self._set_up(self._connection)
                except BaseException:  # also of who is interrupted: the next call would use it
                    self._connection.close()
                    raise
            return self._connection

    def _set_up(self, connection: psycopg.Connection[Any]) -> None:
        """The level is no setting of the session, which through a PgBouncer others would get."""
        cursor = connection.execute("show default_transaction_isolation")
        self._has_other_default = cursor.fetchone() != ("read committed",)
        if self._has_other_default:
            connection.set_isolation_level(psycopg.IsolationLevel.READ_COMMITTED)

    def close(self) -> None:
        self._enter_process()
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def _enter_process(self) -> None:
        """In a forked process: the connection, and who may hold the lock, are the parent's."""
        if self._pid != os.getpid():
            # psycopg lets it go without a word to the server.
            self._pid, self._connection = os.getpid(), None
            self._lock, self._turn = Lock(), Lock()


class Caller:
    """Calls functions of one database; `required` arguments are sent, others unless None."""

    _jsonb_loader: type[Loader] = _calls.JsonbLoader
    """The command line and the gateway leave jsonb as it is."""

    def __init__(self, pool: Pool | ForeignConnection, encode: Encode | None = None) -> None:
        self._pool = pool
        self._encoder = Encoder(encode)
        self._closed = False
        self._is_checked = False
        self._pid = os.getpid()

    def _rows(
        self, kind: type[R], function: str, required: Required, **optional: Argument
    ) -> list[R]:
        columns, rows = self._call(function, required, optional, kind)
        return read_rows(kind, columns, rows)

    def _row(self, kind: type[R], function: str, required: Required, **optional: Argument) -> R:
        return (self._rows(kind, function, required, **optional))[0]

    def _values(
        self, read: Callable[[Any], T], function: str, required: Required, **optional: Argument
    ) -> list[T]:
        _, rows = self._call(function, required, optional)
        return [read(value) for (value,) in rows]

    def _value(
        self, read: Callable[[Any], T], function: str, required: Required, **optional: Argument
    ) -> T:
        return (self._values(read, function, required, **optional))[0]

    def _run(self, function: str, required: Required, **optional: Argument) -> None:
        self._call(function, required, optional)

    def _call(
        self,
        function: str,
        required: Required,
        optional: Required,
        kind: type[Any] | None = None,
    ) -> tuple[list[str], Rows]:
        given = {name: value for name, value in optional.items() if value is not None}
        if self._closed:
            raise psycopg.InterfaceError("the client is closed")
        self._enter_process()
        with self._pool.connection() as connection:
            if not self._is_checked:
                _check_once(connection)
                self._is_checked = True
            arguments = {**required, **given}
            if isinstance(connection, ForeignConnection):
                return connection.call(function, arguments, kind)
            return _execute(connection, function, arguments, self._jsonb_loader)

    def _enter_process(self) -> None:
        """Two processes must not talk over one connection."""
        if self._pid == os.getpid():
            return
        if not isinstance(self._pool, OwnConnection):
            raise psycopg.InterfaceError(
                f"the connection or pool of this client is that of process {self._pid}, from which"
                " this one was forked: make a client in each process"
            )
        self._pid = os.getpid()
        self._leave_parent()

    def _leave_parent(self) -> None:
        """Forgets what goes on in the process from which this one was forked."""


def _execute(
    connection: psycopg.Connection[Any],
    function: str,
    given: Required,
    jsonb_loader: type[Loader] = _calls.JsonbLoader,
) -> tuple[list[str], Rows]:
    # A cursor of our own kind, whatever the caller's connection makes.
    with psycopg.Cursor(connection, row_factory=tuple_row) as cursor:
        _calls.adapt(cursor.adapters, jsonb_loader)
        try:
            statement = _calls.statement(function, tuple(given))
            cursor.execute(statement, given, binary=True)
            rows = cursor.fetchall()  # first: in a pipeline it is what waits for the answer
            return [column.name for column in cursor.description or ()], rows
        except psycopg.Error as error:
            ours = typed(error)
            if ours is error:
                raise
            raise ours from error


def _check_once(connection: psycopg.Connection[Any] | ForeignConnection) -> None:
    """Compares versions, unless another client did so over this connection."""
    if isinstance(connection, ForeignConnection):
        driver = connection.driver()
    elif connection.info.encoding == "ascii":
        raise ValueError("the connection has the client_encoding SQL_ASCII: set it to UTF8")
    else:
        driver = connection
    if driver not in _calls.CHECKED:
        _calls.check_version(_version(connection))
        _calls.CHECKED.add(driver)


def _version(connection: psycopg.Connection[Any] | ForeignConnection) -> str:
    try:
        if isinstance(connection, ForeignConnection):
            _, [(version,)] = connection.call("version", {}, None)
        else:
            _, [(version,)] = _execute(connection, "version", {})
    except (psycopg.errors.InvalidSchemaName, psycopg.errors.UndefinedFunction) as error:
        raise IncompatibleServer(
            "pgbaton is not installed in this database: run pgbaton install --dsn"
        ) from error
    return str(version)
