"""Servers that follow another one."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from load import wait_until
from psycopg.conninfo import conninfo_to_dict

from pgbaton.embedded import Server, use_bindir

# temporary_server does without; what is committed has to be in the log file here.
DURABLE = {"synchronous_commit": "on"}
PRIMARY = {**DURABLE, "wal_level": "replica", "max_wal_senders": "4", "hot_standby": "on"}


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
    shutil.copy(primary.home / "password", home / "password")
    programs = use_bindir(primary.bindir)
    standby = Server(programs, home, durable=False, settings=DURABLE, throw_away=True)
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
