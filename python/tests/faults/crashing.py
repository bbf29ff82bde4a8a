"""Servers that are killed and come back, and calls that are caught in the middle."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import psycopg

from pgbaton import Client
from pgbaton.embedded import Server, ServerError

Connection = psycopg.Connection[Any]
SECONDS = 60

# temporary_server does without; what is committed has to be in the log file here.
DURABLE = {"synchronous_commit": "on"}


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Returns once it holds; asks again and again, and says what it waited for when it gives up."""
    give_up = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < give_up, f"waited in vain: {what}"
        time.sleep(0.01)


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


class Load:
    """Producers and workers that note what was confirmed to them, until stop is set.

    When the server is gone they end, or connect again if they are told to.
    """

    def __init__(self, dsn: str, *, reconnects: bool = False) -> None:
        self.dsn = dsn
        self.reconnects = reconnects
        self.enqueued: set[int] = set()
        self.completed: set[int] = set()
        self.stop = Event()

    def produce(self, number: int) -> None:
        def once(client: Client) -> None:
            key = f"{number}-{len(self.enqueued) % 5}"
            self.enqueued.add(client.enqueue_job("orders", singleton_key=key))
            self.enqueued.update(client.enqueue_batch("mail", [1, 2]))

        self._repeat(once)

    def work(self, number: int) -> None:
        def once(client: Client) -> None:
            if jobs := client.claim_job_batch(f"worker {number}", batch_size=7):
                verdicts = client.complete_jobs([job.id for job in jobs], jobs[0].lease_token)
                self.completed.update(v.job_id for v in verdicts if v.verdict == "ok")

        self._repeat(once)

    def _repeat(self, once: Callable[[Client], None]) -> None:
        with Client(self.dsn) as client:
            while not self.stop.is_set():
                try:
                    once(client)
                except psycopg.OperationalError:
                    if not self.reconnects:
                        return

    def check(self, conn: Connection) -> None:
        """Everything that was confirmed is in the database, and nothing ended twice."""
        there = {job_id for (job_id,) in conn.execute("select id from pgbaton.job")}
        assert self.enqueued <= there
        ended = conn.execute("""
            select h.lo + n from pgbaton.job_history as h, generate_series(0, h.hi - h.lo) as n
            where h.state = 'completed'
        """).fetchall()
        assert len(ended) == len(set(ended))
        assert self.completed <= {job_id for (job_id,) in ended}
