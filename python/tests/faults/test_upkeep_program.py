"""`pgbaton maintain --every` beside a server that only reads, or hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from pgbaton.embedded import Server, temporary_server
from pgbaton.install import install

PROGRAM = Path(sys.executable).parent / "pgbaton"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with temporary_server() as own:
        install(own.dsn())
        yield own


@contextmanager
def upkeep(server: Server) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [PROGRAM, "maintain", "--every", "0.1", "--dsn", server.dsn()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as running:
        try:
            yield running
            running.send_signal(signal.SIGTERM)
            assert running.wait(timeout=30) == 0
        finally:
            running.kill()


def said(running: subprocess.Popen[str], wanted: str) -> None:
    """Reads on until it says so; the timeout of the test ends a wait that is in vain."""
    assert running.stderr is not None
    for line in running.stderr:
        assert "Traceback" not in line
        if wanted in line:
            return
    raise AssertionError(f"it ended without {wanted!r}")


def does_its_work(running: subprocess.Popen[str], server: Server) -> None:
    """A job whose lease has ended comes back."""
    with psycopg.connect(server.dsn(), autocommit=True) as conn:
        conn.execute("set default_transaction_read_only = off")
        name = conn.execute("select 'q' || count(*) from pgbaton.queue").fetchone()
        conn.execute("select pgbaton.create_queue(%s, lease => '1 microsecond')", name)
        conn.execute("select pgbaton.enqueue_job(%s)", name)
        conn.execute("select from pgbaton.claim_job_batch('gone', array[%s])", name)
    assert running.stdout is not None
    for line in running.stdout:
        if "recovered" in line:
            return
    raise AssertionError("it ended")


@contextmanager
def setting(server: Server, change: str) -> Iterator[None]:
    """A setting of the database, and sessions that begin anew with it."""
    ends = (
        "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
        " where pid <> pg_backend_pid() and backend_type = 'client backend'"
    )
    with psycopg.connect(server.dsn(), autocommit=True) as conn:
        conn.execute("set default_transaction_read_only = off")
        (name,) = conn.execute("select current_database()").fetchone() or ("",)
        conn.execute(f"alter database {name} set {change}")  # type: ignore[arg-type]
        conn.execute(ends)
        try:
            yield
        finally:
            conn.execute(f"alter database {name} reset {change.split()[0]}")  # type: ignore[arg-type]


@pytest.mark.parametrize("begins", ["before", "meanwhile"])
def test_a_phase_that_only_reads(server: Server, begins: str) -> None:
    if begins == "meanwhile":
        with setting(server, "default_transaction_read_only = on"):
            running = upkeep(server)
            process = running.__enter__()
            said(process, "25006")
        does_its_work(process, server)
        running.__exit__(None, None, None)
        return
    with upkeep(server) as process:
        does_its_work(process, server)
        with setting(server, "default_transaction_read_only = on"):
            said(process, "25006")
        does_its_work(process, server)


def test_an_error_that_nobody_foresaw(server: Server) -> None:
    """It is said, and the next call is made."""
    with upkeep(server) as process:
        does_its_work(process, server)
        with psycopg.connect(server.dsn(), autocommit=True) as conn:
            rename = "alter function pgbaton.{} rename to {}"
            conn.execute(rename.format("run_maintenance", "away"))  # type: ignore[arg-type]
            said(process, "run_maintenance failed")
            conn.execute(rename.format("away", "run_maintenance"))  # type: ignore[arg-type]
        does_its_work(process, server)
