"""One connection that listens for all sleepers of a client or worker."""

from __future__ import annotations

import asyncio
import logging
import random
import uuid
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgbaton._listening.waiting import break_off, happens

log = logging.getLogger("pgbaton.worker")

# A server that vanished without a word is noticed within half a minute.
KEEPALIVE = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
    "connect_timeout": 10,
}
QUIET = 60.0
"""Seconds without a notification after which a listener proves that it hears."""
ANSWER = 10.0
"""Seconds that its own notification may take."""


def watchful(dsn: str) -> str:
    """The DSN with settings that notice a dead connection, where it has none of its own."""
    given = conninfo_to_dict(dsn)
    return make_conninfo(dsn, **{name: v for name, v in KEEPALIVE.items() if name not in given})


class Listener:
    """Sets an event whenever its channel is notified.

    When the connection is lost, all events are set, it connects again, and all are set once more:
    who sleeps looks for work instead of trusting that nothing was missed. When nothing came for a
    while it sends itself a notification. Who does not hear that (the other end is gone, or a pooler
    has given the connection to somebody else) is replaced.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._events: dict[str, set[asyncio.Event]] = {}
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._reader: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._proof = uuid.uuid4().hex
        self._has_proof = asyncio.Event()

    async def listen(self, channel: str, event: asyncio.Event) -> None:
        """Listens from when this returns on."""
        is_new = channel not in self._events
        self._events.setdefault(channel, set()).add(event)
        if is_new or not self.is_up:
            await self._say("listen {}", channel)

    async def unlisten(self, channel: str, event: asyncio.Event) -> None:
        events = self._events.get(channel, set())
        events.discard(event)
        if not events and self._events.pop(channel, None) is not None and self.is_up:
            await self._say("unlisten {}", channel)

    async def close(self) -> None:
        async with self._turn:
            self._events.clear()
            await self._stop_reading()
            await self._hang_up()

    def break_off(self) -> None:
        """Ends the connection whatever the server does."""
        break_off(self._connection)

    @property
    def is_up(self) -> bool:
        """Whether notifications would be heard."""
        return self._connection is not None and not self._connection.closed

    async def _say(self, statement: LiteralString, channel: str) -> None:
        """Interrupts reading, since a connection does one thing at a time."""
        async with self._turn:
            await self._stop_reading()
            try:
                if not self.is_up:
                    await self._connect()
                elif self._connection is not None:
                    await execute(self._connection, statement, channel)
            except psycopg.Error as error:
                log.warning("no notifications for now, polling instead: %s", error)
                await self._hang_up()
            except asyncio.CancelledError:
                await self._hang_up()
                raise
            finally:
                self._reader = asyncio.create_task(self._read())

    async def _connect(self) -> psycopg.AsyncConnection[Any]:
        connection = await psycopg.AsyncConnection.connect(
            self._dsn,
            autocommit=True,
            prepare_threshold=None,
            fallback_application_name="pgbaton listener",
        )
        # What arrives while it does something else than to listen.
        connection.add_notify_handler(lambda n: self._hear_of(n.channel, n.payload))
        try:
            for channel in list(self._events):
                await execute(connection, "listen {}", channel)
        except BaseException:  # one that does not hear all would not be noticed
            await connection.close()
            raise
        self._connection = connection
        return connection

    async def _hang_up(self) -> None:
        """A connection that does not hear all would seem to be up."""
        if self._connection is not None:
            await self._connection.close()

    async def _stop_reading(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
            self._reader = None

    async def _read(self) -> None:
        delay = 0.1
        while True:
            try:
                connection = self._connection
                if connection is None or connection.closed:
                    connection = await self._connect()
                    self._wake_all()
                delay = 0.1
                await self._hear(connection)
            except psycopg.Error as error:  # a standby's is no OperationalError
                log.info("the listening connection is lost: %s", error)
                await self._hang_up()
                self._wake_all()
                await asyncio.sleep(delay * random.uniform(0.5, 1))  # noqa: S311
                delay = min(delay * 2, 10)

    async def _hear(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Until the connection breaks."""
        while True:
            if not await self._hears(connection, QUIET * random.uniform(1, 2)):  # noqa: S311
                await self._prove(connection)

    async def _hears(self, connection: psycopg.AsyncConnection[Any], seconds: float) -> bool:
        """Whether something came in that time. Its notifies() would look ten times a second."""
        loop, socket = asyncio.get_running_loop(), connection.fileno()
        readable = asyncio.Event()
        loop.add_reader(socket, readable.set)
        try:
            if not await happens(readable, seconds):
                return False
        finally:
            loop.remove_reader(socket)
        connection.pgconn.consume_input()
        while (notification := connection.pgconn.notifies()) is not None:
            self._hear_of(notification.relname.decode(), notification.extra.decode())
        return True

    async def _prove(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Fails unless a notification of its own comes back."""
        channel = next(iter(self._events), None)
        if channel is None:
            return
        self._has_proof.clear()
        try:
            async with asyncio.timeout(ANSWER):
                await connection.execute("select pg_notify(%s, %s)", [channel, self._proof])
                while not self._has_proof.is_set():
                    await self._hears(connection, ANSWER)
        except TimeoutError:
            raise psycopg.OperationalError("it hears nothing") from None

    def _hear_of(self, channel: str, payload: str) -> None:
        if payload == self._proof:
            self._has_proof.set()
        else:
            self._wake(channel)

    def _wake(self, channel: str) -> None:
        for event in self._events.get(channel, ()):
            event.set()

    def _wake_all(self) -> None:
        for events in self._events.values():
            for event in events:
                event.set()


async def execute(
    connection: psycopg.AsyncConnection[Any], statement: LiteralString, channel: str
) -> None:
    await connection.execute(sql.SQL(statement).format(sql.Identifier(channel)))
