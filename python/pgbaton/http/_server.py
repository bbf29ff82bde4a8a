"""A process that serves the gateway."""

from __future__ import annotations

import resource
import signal
import socket
from collections.abc import Callable, Sequence
from datetime import timedelta
from types import FrameType

import psycopg
import uvicorn
from starlette.applications import Starlette

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
    found.bind((host, port))
    found.set_inheritable(True)
    return found


def allow_many_files() -> None:
    """A stream is an open file: as many as the system lets this process have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


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
