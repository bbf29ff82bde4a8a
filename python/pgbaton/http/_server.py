"""A process that serves the gateway."""

from __future__ import annotations

import asyncio
import resource
import signal
import socket
from collections.abc import Callable, Sequence
from datetime import timedelta
from types import FrameType
from typing import Any

import h11
import psycopg
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from pgbaton.client import Client
from pgbaton.errors import UnknownQueue
from pgbaton.http._app import gateway
from pgbaton.http._roles import set_role
from pgbaton.http._settings import Settings

LAST_WORDS = 5
"""Seconds that requests have to end after SIGTERM."""


def prepare(
    settings: Settings, queues: Sequence[str], lock: timedelta, schedule: Sequence[timedelta]
) -> list[str]:
    """Makes the queues that are missing and tries on every role.

    Returns:
        list[str]: the queues that were made.

    Raises:
        psycopg.Error: the database cannot be asked, or the gateway may not become a role.
    """
    made = []
    with Client(settings.dsn) as client:
        for queue in queues:
            try:
                client.live_stats(queue)
            except UnknownQueue:
                client.create_queue(
                    queue,
                    lease=lock,
                    backoff_schedule=list(schedule) or None,
                    max_attempts=len(schedule) + 1,
                )
                made.append(queue)
    roles = {c.role for c in (settings.callers or {}).values() if c.role is not None}
    with psycopg.connect(settings.dsn) as connection:
        for role in sorted(roles):
            connection.execute(set_role(role))
    return made


def listening(host: str, port: int) -> socket.socket:
    """A socket that notices within half a minute when the other side is gone without a word."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", 15),
        ("TCP_KEEPINTVL", 5),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", 30_000),
    ):
        if hasattr(socket, option):  # what is accepted inherits them
            found.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    try:
        found.bind((host, port))
    except OSError:
        found.close()
        raise
    found.set_inheritable(True)
    return found


def allow_many_files() -> None:
    """A stream is an open file: as many as the system lets this process have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


LATE = b"the request did not arrive in time\n"


def arriving_within(seconds: float) -> type[asyncio.Protocol]:
    """A protocol that ends a connection whose request is not complete after so long.

    The time begins with the connection, or with the first byte of a further request. It is one
    for head and body, so that nobody wins more of it by sending a byte now and then.
    """

    class Arriving(H11Protocol):
        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            if not self._has_begun():
                self._unwatch()
            super().data_received(data)

        def handle_events(self) -> None:
            super().handle_events()
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._unwatch()
            super().connection_lost(exc)

        def _has_begun(self) -> bool:
            return self.conn.their_state is not h11.IDLE or bool(self.conn.trailing_data[0])

        def _watch(self) -> None:
            if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
                self._unwatch()
            elif self._late is None:
                self._late = self.loop.call_later(seconds, self._end)

        def _unwatch(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

        def _end(self) -> None:
            if self.cycle is not None:
                self.cycle.disconnected = True
            if self._has_begun() and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                self.transport.write(self._refusal())
            self.transport.close()
            if self.transport.get_write_buffer_size() > 0:
                self.transport.abort()  # nor does it read

        def _refusal(self) -> bytes:
            kind = ("Content-Type", "text/plain; charset=utf-8")
            length = ("Content-Length", str(len(LATE)))
            events: tuple[Any, ...] = (
                h11.Response(status_code=408, headers=[kind, length, ("Connection", "close")]),
                h11.Data(data=LATE),
                h11.EndOfMessage(),
            )
            return b"".join(self.conn.send(event) or b"" for event in events)

    return Arriving


class Server(uvicorn.Server):
    """Ends the streams as soon as it is told to stop."""

    def __init__(self, config: uvicorn.Config, app: Starlette) -> None:
        super().__init__(config)
        self._app = app

    def end_before_the_start(self, *_: object) -> None:
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self.started:
            self._app.state.gateway.end_streams()


def serve(settings: Settings, host: str, port: int, say: Callable[[str], None]) -> None:
    """Serves until SIGTERM or SIGINT.

    Raises:
        OSError: the port cannot be had.
    """
    allow_many_files()
    found = listening(host, port)
    name = f"[{host}]" if ":" in host else host
    app = gateway(settings)
    config = uvicorn.Config(
        app,
        http=arriving_within(settings.request_timeout),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=LAST_WORDS,
        backlog=2048,
    )
    server = Server(config, app)
    found.listen(2048)
    for number in (signal.SIGTERM, signal.SIGINT):
        # Before uvicorn listens to them; and after it has ended, when it raises them again.
        signal.signal(number, server.end_before_the_start)
    say(f"http://{name}:{found.getsockname()[1]}/")
    server.run(sockets=[found])
