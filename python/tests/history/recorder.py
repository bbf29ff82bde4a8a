"""Makes the calls of one process and writes each down: when it is made, and when answered."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg.conninfo import make_conninfo

TIMEOUTS = "-c statement_timeout=30s -c lock_timeout=20s"


class Lost(Exception):
    """The answer did not come: nobody knows whether the call took effect."""


class Refused(Exception):
    """The call failed and had no effect."""

    def __init__(self, sqlstate: str) -> None:
        super().__init__(sqlstate)
        self.sqlstate = sqlstate


class Recorder:
    """Appends to the file of one process; a line that was written survives a kill -9."""

    def __init__(self, file: Path, process: str) -> None:
        self.process = process
        self._file = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._numbers = count()

    def made(self, name: str, args: dict[str, Any], tx: str | None = None) -> int:
        number = next(self._numbers)
        self._write(n=number, process=self.process, name=name, args=args, tx=tx, begin=time.time())
        return number

    def answered(self, number: int, result: Any = None, error: str | None = None) -> None:
        self._write(n=number, end=time.time(), result=result, error=error)

    def _write(self, **part: Any) -> None:
        os.write(self._file, json.dumps(part).encode() + b"\n")


class Caller:
    """A connection that is made anew whenever it breaks; `folder` says where the server is."""

    def __init__(self, folder: Path, process: str) -> None:
        self.folder = folder
        self.recorder = Recorder(folder / f"{process}.jsonl", process)
        self._conn: psycopg.Connection[Any] | None = None
        self._transactions = count()
        self.tx: str | None = None
        # The isolation level, chosen anew for each connection.
        self.level: Callable[[], str] = lambda: "read committed"
        self.user: str | None = None

    def is_over(self, what: str = "stop") -> bool:
        return (self.folder / what).exists()

    def call(
        self, name: str, query: LiteralString, params: Any, args: dict[str, Any] | None = None
    ) -> list[list[Any]]:
        """Makes a call and returns its rows. Raises Lost or Refused."""
        self._connected()
        number = self.recorder.made(name, args or {}, self.tx)
        rows = self._made([number], query, params)
        if name in PLAIN:
            self.recorder.answered(number)
        elif name in SINGLE:
            self.recorder.answered(number, rows[0][0] if rows else None)
        else:
            self.recorder.answered(number, rows)
        return rows

    def complete_and_claim(
        self, worker: str, done: list[int], token: int, lease: float, args: dict[str, Any]
    ) -> list[list[Any]]:
        """One call, written down as the two that it stands for; returns the rows of the second."""
        self._connected()
        completes = self.recorder.made("complete_jobs", {"jobs": done, "token": token}, self.tx)
        claims = self.recorder.made("claim_job_batch", args, self.tx)
        rows = self._made(
            [completes, claims],
            "select verdict, id, queue, singleton_key, attempt, lease_token,"
            " extract(epoch from lease_until)::float8"
            " from pgbaton.complete_and_claim(%s, %s, %s, %s, batch_size => %s,"
            " lease => make_interval(secs => %s))",
            [done, token, worker, args["queues"], args["size"], lease],
        )
        refused = {row[1]: row[0] for row in rows if row[0] != "claimed"}
        claimed = [row[1:] for row in rows if row[0] == "claimed"]
        self.recorder.answered(completes, [[job, refused.get(job, "ok")] for job in done])
        self.recorder.answered(claims, claimed)
        return claimed

    def _made(self, numbers: list[int], query: LiteralString, params: Any) -> list[list[Any]]:
        conn = self._connected()
        try:
            cursor = conn.execute(query, params)
            return [list(row) for row in cursor.fetchall()] if cursor.description else []
        except psycopg.Error as error:
            if is_unsure(error, conn):
                self.drop()
                raise Lost from error
            for number in numbers:
                self.recorder.answered(number, str(error).splitlines()[0], error.sqlstate or "?")
            raise Refused(error.sqlstate or "?") from error

    def begin(self, isolation: str = "read committed") -> None:
        try:
            self._connected().execute(f"begin isolation level {isolation}".encode())
        except psycopg.OperationalError as error:
            self.drop()
            raise Lost from error
        self.tx = f"{self.recorder.process}/{next(self._transactions)}"

    def end(self, how: LiteralString) -> None:
        """Ends the transaction: `commit` or `rollback`."""
        try:
            self.call(how, how, None)
        finally:
            self.tx = None

    def drop(self) -> None:
        """Closes the connection; the next call makes another."""
        if self._conn is not None:
            self._conn.close()
        self._conn = None
        self.tx = None

    def sleep(self, channel: str, seconds: float) -> bool:
        """Waits for a notification on the channel, which the connection listens to; if it came."""
        conn = self._connected()
        try:
            return any(n.channel == channel for n in conn.notifies(timeout=seconds, stop_after=1))
        except psycopg.OperationalError as error:
            self.drop()
            raise Lost from error

    def _connected(self) -> psycopg.Connection[Any]:
        if self._conn is not None and self.tx is not None:
            return self._conn  # never quietly another one within a transaction
        who = {"user": self.user} if self.user else {}
        while self._conn is None or self._conn.closed:
            level = self.level().replace(" ", "\\ ")
            try:
                self._conn = psycopg.connect(
                    make_conninfo((self.folder / "dsn").read_text(), **who),
                    autocommit=True,
                    connect_timeout=10,
                    options=f"{TIMEOUTS} -c default_transaction_isolation={level}",
                    application_name=self.recorder.process,
                )
            except psycopg.OperationalError:  # the server is coming up again
                if self.is_over("abandon"):
                    raise
                time.sleep(0.05)
        return self._conn


# What is written down of an answer: nothing, the first value, else all rows.
PLAIN = ("commit", "rollback", "enqueue_job", "enqueue_jobs", "enqueue_batch", "run_maintenance")
SINGLE = ("fail_job", "complete_claim", "cancel_jobs", "reset_running_jobs")


def is_unsure(error: psycopg.Error, conn: psycopg.Connection[Any]) -> bool:
    """The connection is gone or going: a commit may have been made that was not answered."""
    state = error.sqlstate or ""
    return conn.closed or conn.broken or state == "" or state.startswith(("08", "57P"))
