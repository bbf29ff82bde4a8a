"""The client: one method for each public SQL function, with the same names and defaults."""

from __future__ import annotations

import os  # async only
from types import TracebackType
from typing import TYPE_CHECKING, Any

import psycopg

from pgbaton import _foreign
from pgbaton._arguments import argument, text
from pgbaton._async.caller import AsyncPool, OwnConnection
from pgbaton._async.connections import joined
from pgbaton._async.monitor import MonitorCalls
from pgbaton._async.operator import OperatorCalls
from pgbaton._async.producer import ProducerCalls
from pgbaton._async.queue import QueueCalls
from pgbaton._async.streams import Streams  # async only
from pgbaton._async.worker import WorkerCalls
from pgbaton._codec import Encode

if TYPE_CHECKING:
    from pgbaton._foreign import AsyncForeign

__all__ = ["AsyncClient", "AsyncPool"]


class AsyncClient(
    Streams,  # async only
    QueueCalls,
    ProducerCalls,
    WorkerCalls,
    OperatorCalls,
    MonitorCalls,
):
    """Calls pgbaton in one database.

    Exactly one of the three says how:

    Args:
        dsn (str): connection string or URL. The client keeps one connection in autocommit mode:
            each call is a transaction of its own. It is opened by the first call. When it is
            lost, the call that notices raises, and the next one connects again; no call is ever
            sent twice.
        connection (psycopg.AsyncConnection): your own, or a connection or session of SQLAlchemy,
            or, where calls are awaited, a connection of asyncpg. Calls join your transaction; the
            client never commits, rolls back or closes it.
        pool (AsyncPool): for example psycopg_pool.AsyncConnectionPool. Each call borrows a
            connection and is a transaction of its own.

    And, with any of them:

    Args:
        encode (Callable): makes JSON of each payload and result that is passed to the client, for
            example Codec().encode; what fails is a CodecError, and nothing was sent. What comes
            back is JSON, as it is stored. Default: they are JSON already.

    An argument that is left out, or None, leaves the default to the server. Durations are
    timedelta or interval text such as '1 month', instants are aware datetimes, durations come
    back as timedelta (a month as 30 days), payloads and results as what json.loads makes.

    In a forked process a client of a DSN connects anew; one of your connection or pool raises
    psycopg.InterfaceError there.

    With a DSN or a connection, several tasks may share a client and take turns, since one
    connection does one thing at a time; with a pool they work in parallel.

    The first call raises IncompatibleServer when the database has another version of pgbaton:
    while it is 0.x, the first two numbers must be those of this package, or the database one minor
    version ahead.
    """

    def __init__(
        self,
        dsn: str | None = None,
        *,
        connection: psycopg.AsyncConnection[Any] | AsyncForeign | None = None,
        pool: AsyncPool | None = None,
        encode: Encode | None = None,
    ) -> None:
        if sum(way is not None for way in (dsn, connection, pool)) != 1:
            raise TypeError("AsyncClient takes exactly one of dsn, connection and pool")
        with argument("dsn"):
            text(dsn)  # a connection in its place is refused
        if pool is not None:
            _foreign.check_pool("AsyncClient", pool)
        self._own = OwnConnection(dsn) if dsn is not None else None
        borrowed = joined(connection) if connection is not None else None
        # One of them is there, which only the check above knows.
        super().__init__(self._own or borrowed or pool, encode)  # type: ignore[arg-type]
        self._dsn = dsn  # async only

    async def close(self) -> None:
        """Ends the client; closes its connection if it opened one, never yours."""
        if self._pid == os.getpid():  # async only
            await self._end_streams()  # async only
        self._closed = True
        if self._own is not None:
            await self._own.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
