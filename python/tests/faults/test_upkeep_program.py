"""`pgbaton maintain --every` beside a server that restarts, is full, only reads, or hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic

import psycopg
import pytest
from crashing import kill_server
from psycopg.conninfo import make_conninfo
from standbys import PRIMARY, either, promote, standby_of

from pgbaton.embedded import Server, _free_port, temporary_server
from pgbaton.install import install

PROGRAM = Path(sys.executable).parent / "pgbaton"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with temporary_server() as own:
        install(own.dsn())
        yield own


@contextmanager
def running_upkeep(dsn: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [PROGRAM, "maintain", "--every", "0.1", "--dsn", dsn],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as running:
        try:
            yield running
        finally:
            running.kill()


@contextmanager
def upkeep(server: Server | str) -> Iterator[subprocess.Popen[str]]:
    """It is told to end after the block, and must end by that."""
    with running_upkeep(server if isinstance(server, str) else server.dsn()) as running:
        yield running
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=30) == 0


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


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_server_that_restarts(how: str) -> None:
    with temporary_server(settings={"port": str(_free_port())}) as own:
        install(own.dsn())
        with upkeep(own.dsn(tcp=True)) as process:
            for _ in range(2):
                does_its_work(process, own)
                own.stop() if how == "stopped" else kill_server(own)
                said(process, "has no database")
                own.start()
            does_its_work(process, own)


def test_a_server_that_is_not_there_yet() -> None:
    with temporary_server(settings={"port": str(_free_port())}) as own:
        install(own.dsn())
        dsn = own.dsn(tcp=True)
        own.stop()
        with upkeep(dsn) as process:
            said(process, "Connection refused")
            own.start()
            does_its_work(process, own)


@pytest.mark.parametrize("begins", ["before", "meanwhile"])
def test_too_many_connections(server: Server, begins: str) -> None:
    """53300, which only who connects is told: it is no answer to a call."""
    role = f"upkeep_{begins}"
    dsn = make_conninfo(server.dsn(), user=role)
    with psycopg.connect(server.dsn(), autocommit=True) as conn:
        conn.execute(f"create role {role} login in role pgbaton_worker")  # type: ignore[arg-type]
        if begins == "meanwhile":
            conn.execute(f"alter role {role} connection limit 0")  # type: ignore[arg-type]
        with upkeep(dsn) as process:
            if begins == "before":
                does_its_work(process, server)
                conn.execute(f"alter role {role} connection limit 0")  # type: ignore[arg-type]
                conn.execute(
                    "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
                    " where usename = %s",
                    [role],
                )
            said(process, "too many connections")
            conn.execute(f"alter role {role} connection limit -1")  # type: ignore[arg-type]
            does_its_work(process, server)


def test_no_connection_is_free() -> None:
    """All that the server has are taken, and then one of them is not."""
    with temporary_server(settings={"max_connections": "6"}) as own, ExitStack() as others:
        install(own.dsn())
        with psycopg.connect(own.dsn(), autocommit=True) as conn:
            conn.execute("create role upkeep login in role pgbaton_worker")
            dsn = make_conninfo(own.dsn(), user="upkeep")
            taken = []
            with suppress(psycopg.OperationalError):
                while True:
                    taken.append(others.enter_context(psycopg.connect(dsn)))
            assert taken
            with upkeep(dsn) as process:
                said(process, "connection")
                taken[0].close()
                does_its_work(process, own)


def test_a_standby_that_is_promoted() -> None:
    """It is told that the server only reads, and works there once it does not."""
    with temporary_server(settings=PRIMARY) as primary:
        install(primary.dsn())
        with standby_of(primary, synchronous=False) as standby, upkeep(standby) as process:
            said(process, "25006")
            promote(standby)
            does_its_work(process, standby)


def test_a_primary_that_is_lost() -> None:
    """Whichever of the two takes writes is found."""
    with temporary_server(settings=PRIMARY) as primary:
        install(primary.dsn())
        with (
            standby_of(primary, synchronous=True) as standby,
            upkeep(either(primary, standby)) as process,
        ):
            does_its_work(process, primary)
            kill_server(primary)
            said(process, "has no database")
            promote(standby)
            does_its_work(process, standby)


def test_a_call_that_hangs_as_it_is_told_to_end(server: Server) -> None:
    """It ends within the ten seconds of the docs, and says that it has no answer."""
    dsn = make_conninfo(server.dsn(tcp=True), application_name="hangs")
    with running_upkeep(dsn) as process:
        for _ in range(2):  # the first call has a session of its own
            does_its_work(process, server)
        with psycopg.connect(server.dsn(), autocommit=True) as conn:
            [(backend, port)] = conn.execute(
                "select pid, client_port from pg_stat_activity where application_name = 'hangs'"
                " order by backend_start desc limit 1"
            ).fetchall()
        os.kill(backend, signal.SIGSTOP)
        try:
            while not is_unread(port):
                pass
            process.send_signal(signal.SIGTERM)
            before = monotonic()
            _, complaint = process.communicate(timeout=60)
            assert 5 < monotonic() - before < 30
            assert "ends without an answer to its last call" in complaint
            assert process.returncode == 1
        finally:
            os.kill(backend, signal.SIGCONT)
    with upkeep(server) as process:
        does_its_work(process, server)


def is_unread(port: int) -> bool:
    """Whether the server has not read all that came from this port."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    queues = [row[4] for row in rows if row[2].endswith(f":{port:04X}")]
    return any(int(queue.partition(":")[2], 16) for queue in queues)
