"""The server that is measured, and what work costs on it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from pgbaton import embedded

Connection = psycopg.Connection[Any]
SETTINGS = {
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "30min",
    "synchronous_commit": "on",
    "max_connections": "300",  # 100 sleeping workers with two each
}
TEMPLATE = "bench_template"


class Cost(NamedTuple):
    """What a stretch of work took on the server."""

    jobs: int
    seconds: float
    cpu_us: float
    wal_bytes: float

    @property
    def per_second(self) -> float:
        return self.jobs / self.seconds


class Bench:
    """A server, and the workloads to run on it."""

    def __init__(self, server: embedded.Server, runs: int, scale: float) -> None:
        self.server = server
        self.runs = runs
        self.scale = scale
        with self.connect("postgres") as conn:
            row = conn.execute("show data_directory").fetchone()
        assert row is not None
        self.postmaster = int(Path(row[0], "postmaster.pid").read_text().splitlines()[0])

    def connect(self, database: str) -> Connection:
        return psycopg.connect(self.server.dsn(dbname=database), autocommit=True)

    def count(self, jobs: int) -> int:
        """A number of jobs, scaled, in thousands."""
        return max(1000, int(jobs * self.scale) // 1000 * 1000)

    @contextmanager
    def database(self) -> Iterator[str]:
        """A fresh database with pgbaton and the queues `plain` and `ordered`."""
        name = "bench"
        with self.connect("postgres") as conn:
            conn.execute(f"drop database if exists {name} with (force)")
            conn.execute(f"create database {name} template {TEMPLATE}")
        yield name

    def cpu_ticks(self) -> int:
        fields = Path(f"/proc/{self.postmaster}/stat").read_text().rpartition(")")[2].split()
        return int(fields[13]) + int(fields[14])

    def wait_for_backends(self, database: str) -> None:
        """Waits until the postmaster has collected all backends of the database, with their CPU."""
        while any(self._is_left(child, database) for child in self._children()):
            time.sleep(0.01)

    def _children(self) -> list[str]:
        return Path(f"/proc/{self.postmaster}/task/{self.postmaster}/children").read_text().split()

    def _is_left(self, process: str, database: str) -> bool:
        """A backend of the database, or one that has ended and was not collected yet (no title)."""
        try:
            title = Path(f"/proc/{process}/cmdline").read_bytes().decode().strip("\0 ")
        except (FileNotFoundError, ProcessLookupError):
            return False
        return not title or f" {database} " in title

    def processes_of(self, database: str) -> list[str]:
        """The backends of the database."""
        return [child for child in self._children() if self._is_left(child, database)]

    def measure(self, database: str, jobs: int, work: Callable[[], None]) -> Cost:
        """Runs work, which opens and closes its connections, and tells what it cost."""
        with self.connect("postgres") as conn:
            conn.execute("checkpoint")
            wal = wal_position(conn)
        self.wait_for_backends(database)
        ticks = self.cpu_ticks()
        started = time.perf_counter()
        work()
        seconds = time.perf_counter() - started
        self.wait_for_backends(database)
        cpu = (self.cpu_ticks() - ticks) / os.sysconf("SC_CLK_TCK")
        with self.connect("postgres") as conn:
            written = wal_position(conn) - wal
        return Cost(jobs, seconds, cpu * 1e6 / jobs, written / jobs)


def wal_position(conn: Connection) -> int:
    row = conn.execute("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
    assert row is not None
    return int(row[0])
