"""Servers that are killed and come back, and calls that are caught in the middle."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from load import wait_until

from pgbaton.embedded import Server, ServerError

Connection = psycopg.Connection[Any]

# temporary_server does without; what is committed has to be in the log file here.
DURABLE = {"synchronous_commit": "on"}


def kill_server(server: Server) -> None:
    """kill -9 of the postmaster; its children notice and end."""
    lines = (server.data / "postmaster.pid").read_text().splitlines()
    os.kill(int(lines[0]), signal.SIGKILL)
    wait_until(lambda: not _of_server(server), "the processes of the server to end")


def _of_server(server: Server) -> list[int]:
    """Processes that have the data directory as theirs: the postmaster and its children."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                place = (entry / "cwd").readlink()
            except OSError:  # it ended meanwhile
                continue
            if place == server.data:
                found.append(int(entry.name))
    return found


def is_up(dsn: str) -> bool:
    try:
        with psycopg.connect(dsn, connect_timeout=5) as conn:
            return bool(conn.execute("select 1").fetchone())
    except psycopg.OperationalError:
        return False


def is_lost(conn: Connection) -> bool:
    try:
        conn.execute("select 1")
    except psycopg.OperationalError:
        return True
    return False


def restart(server: Server) -> None:
    """Starts a server that was killed."""
    try:
        server.start()
    except ServerError as error:
        raise AssertionError(f"{error}: {server.data}") from error


def state_of(observer: Connection, pid: int) -> tuple[str | None, str | None]:
    """What a backend waits for."""
    row = observer.execute(
        "select wait_event_type, wait_event from pg_stat_activity where pid = %s", [pid]
    ).fetchone()
    return row if row else (None, None)


@contextmanager
def caught_at(dsn: str, table: str, call: str, *args: Any) -> Iterator[tuple[int, Future[Any]]]:
    """A call in a session of its own that is about to write to a table, and waits there."""
    with (
        closing(psycopg.connect(dsn)) as blocker,
        closing(psycopg.connect(dsn, autocommit=True)) as observer,
        closing(psycopg.connect(dsn, autocommit=True)) as own,
        ThreadPoolExecutor(1) as thread,
    ):
        pid = own.info.backend_pid
        blocker.execute(f"lock table {table} in share mode".encode())
        future = thread.submit(lambda: own.execute(call.encode(), args).fetchall())
        wait_until(lambda: state_of(observer, pid)[0] == "Lock", f"{call} to wait for {table}")
        yield pid, future
