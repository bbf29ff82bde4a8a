"""Fail-over to a streaming standby: workers go on there, and what was confirmed is there."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from crashing import DURABLE, kill_server
from invariants import assert_sound
from load import Load, wait_until
from proof import record
from psycopg.conninfo import conninfo_to_dict

from pgbaton import Client
from pgbaton.embedded import Server, temporary_server
from pgbaton.install import install

PRIMARY = {**DURABLE, "wal_level": "replica", "max_wal_senders": "4", "hot_standby": "on"}


@pytest.fixture
def primary() -> Iterator[Server]:
    with temporary_server(settings=PRIMARY) as server:
        install(server.dsn())
        yield server


@contextmanager
def standby_of(primary: Server, *, synchronous: bool) -> Iterator[Server]:
    """A server that follows another one."""
    home = Path(tempfile.mkdtemp(prefix="/tmp/pgbaton-standby-"))
    owner = primary.data.stat()
    shutil.chown(home, owner.st_uid, owner.st_gid)
    copy = [primary.programs() / "pg_basebackup", "--write-recovery-conf", "--checkpoint=fast"]
    copy += ["--wal-method=stream", f"--pgdata={home / 'data'}", f"--dbname={primary.dsn()}"]
    command = [str(part) for part in copy]
    subprocess.run(command, check=True, cwd="/", user=owner.st_uid, group=owner.st_gid)
    (home / "lock").touch()  # the mark of a server of pgbaton
    (home / "password").touch()
    standby = Server(home=home, durable=False, settings=DURABLE, throw_away=True)
    with standby:
        if synchronous:
            be_synchronous(primary)
        yield standby


def be_synchronous(primary: Server) -> None:
    with psycopg.connect(primary.dsn(), autocommit=True) as admin:
        admin.execute("alter system set synchronous_standby_names = '*'")
        admin.execute("select pg_reload_conf()")
        state = "select sync_state from pg_stat_replication"
        wait_until(lambda: admin.execute(state).fetchall() == [("sync",)], "a standby in sync")


def either(*servers: Server) -> str:
    """A DSN that finds whichever of them takes writes."""
    parts = [conninfo_to_dict(server.dsn()) for server in servers]
    hosts = ",".join(str(part["host"]) for part in parts)
    ports = ",".join(str(part["port"]) for part in parts)
    return (
        f"user=postgres dbname=postgres host={hosts} port={ports} target_session_attrs=read-write"
    )


def promote(standby: Server) -> None:
    with psycopg.connect(standby.dsn(), autocommit=True) as conn:
        assert conn.execute("select pg_promote()").fetchone() == (True,)


def test_workers_go_on_at_the_standby_and_nothing_confirmed_is_lost(primary: Server) -> None:
    with standby_of(primary, synchronous=True) as standby:
        dsn = either(primary, standby)
        with Client(dsn) as client:
            client.create_queue("mail")
            client.create_fifo_queue("orders")
        load = Load(dsn, reconnects=True)
        with ThreadPoolExecutor(4) as threads:
            running = [threads.submit(load.produce, n) for n in range(2)]
            running += [threads.submit(load.work, n) for n in range(2)]
            wait_until(lambda: len(load.completed) > 200, "jobs to be completed")
            kill_server(primary)
            promote(standby)
            before = len(load.completed)
            wait_until(lambda: len(load.completed) > before + 200, "workers to go on")
            load.stop.set()
            for one in running:
                one.result()
        with psycopg.connect(standby.dsn(), autocommit=True) as conn:
            load.check(conn)
            assert_sound(conn)
    record("failover", crashes_injected=1)


def test_who_looks_may_look_at_a_standby(primary: Server) -> None:
    with standby_of(primary, synchronous=True) as standby:
        with psycopg.connect(primary.dsn(), autocommit=True) as admin:
            admin.execute("alter role postgres set synchronous_commit = remote_apply")
        with Client(primary.dsn()) as client:
            client.create_queue("mail")
            job_id = client.enqueue_job("mail", [1])
        with Client(standby.dsn()) as reader:
            assert reader.get_job(job_id).payload == [1]
            assert reader.queue_stats("mail")[0].pending == 1
            assert (reader.wake_ups(), reader.job_totals()[0].lease_losses) == (0, 0)
            assert "claimable" in reader.why_not_running(job_id)
            assert [q.queue for q in reader.list_queues()] == ["mail"]
            assert {check.status for check in reader.health()} <= {"ok", "warn", "bad"}
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                reader.claim_job_batch("w")
