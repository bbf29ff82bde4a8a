"""Producers and workers that go on while something happens to the server."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from threading import Event
from typing import Any

import psycopg

from pgbaton import Client

Connection = psycopg.Connection[Any]
SECONDS = 60


def wait_until(holds: Callable[[], object], what: str) -> None:
    """Returns once it holds; asks again and again, and says what it waited for when it gives up."""
    give_up = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < give_up, f"waited in vain: {what}"
        time.sleep(0.01)


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
