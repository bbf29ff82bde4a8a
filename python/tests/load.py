"""Producers and workers that go on while something happens to the server."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from threading import Event
from typing import Any

import psycopg

Connection = psycopg.Connection[Any]
SECONDS = 60


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Returns once it holds; asks again and again, and says what it waited for when it gives up."""
    give_up = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < give_up, f"waited in vain: {what}"
        time.sleep(0.01)


def rows(conn: Connection, call: str, *args: Any, columns: str = "*") -> list[Any]:
    """What a function returns. In plain SQL, since a client refuses releases before its own."""
    query = f"select {columns} from pgbaton.{call}"  # noqa: S608 - both are constants
    found = conn.execute(query.encode(), args).fetchall()
    return [row[0] if len(row) == 1 else row for row in found]


class Load:
    """Producers and workers that note what was confirmed to them, until stop is set.

    When the server is gone they end, or connect again if they are told to.
    """

    def __init__(self, dsn: str, *, reconnects: bool = False) -> None:
        self.dsn = dsn
        self.reconnects = reconnects
        self.enqueued: set[int] = set()
        self.completed: set[int] = set()
        self.refused: Counter[str] = Counter()
        self.stop = Event()

    def produce(self, number: int) -> None:
        def once(conn: Connection) -> None:
            key = f"{number}-{len(self.enqueued) % 5}"
            self.enqueued.update(rows(conn, "enqueue_job('orders', singleton_key => %s)", key))
            self.enqueued.update(rows(conn, "enqueue_batch('mail', '{1,2}')"))

        self._repeat(once)

    def work(self, number: int) -> None:
        def once(conn: Connection) -> None:
            claim = "claim_job_batch(%s, batch_size => 7)"
            claimed = rows(conn, claim, f"worker {number}", columns="id, lease_token")
            if claimed:
                ids = [job_id for job_id, _ in claimed]
                complete = "complete_jobs(%s, %s)"
                verdicts = rows(conn, complete, ids, claimed[0][1], columns="job_id, verdict")
                self.completed.update(job_id for job_id, verdict in verdicts if verdict == "ok")

        self._repeat(once)

    def _repeat(self, once: Callable[[Connection], None]) -> None:
        while not self.stop.is_set():
            try:
                with psycopg.connect(self.dsn, autocommit=True) as conn:
                    while not self.stop.is_set():
                        once(conn)
            except psycopg.OperationalError as error:
                self.refused[type(error).__name__] += 1
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
