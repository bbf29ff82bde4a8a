"""pg_upgrade takes a cluster with pgbaton to a newer major, jobs and counters included.

The plain installation only: as an extension it would need its files in the folders of both servers.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from invariants import assert_sound
from routes import finish, story

from pgbaton import _assemble
from pgbaton.embedded import Server, find_bindirs
from pgbaton.install import install

pytestmark = pytest.mark.proof

PAGE = _assemble.source_root() / "docs" / "operations.md"
BINDIRS = sorted(find_bindirs(), key=lambda bindir: bindir.major)


@contextmanager
def server_of(major_index: int) -> Iterator[Server]:
    home = Path(tempfile.mkdtemp(prefix="/tmp/pgbaton-upgrade-"))
    server = Server(BINDIRS[major_index], home, durable=False)
    try:
        yield server
        server.stop()
    finally:
        shutil.rmtree(home)


def without_marks() -> bytes:
    """What docs/operations.md says is to be done first."""
    blocks = re.findall(r"```sql\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    [statement] = [block for block in blocks if "pg_attribute" in block]
    return statement.encode()


def run(server: Server, account: Path, *command: object) -> None:
    """As the account that owns the data of the old server; root may not."""
    owner = account.stat()
    done = subprocess.run(
        [str(part) for part in command],
        cwd=server.home,
        user=owner.st_uid,
        group=owner.st_gid,
        capture_output=True,
        text=True,
        check=False,
    )
    # What pg_upgrade refuses stands in files beside the data.
    logs = [log.read_text(errors="replace") for log in server.home.glob("data/pg_upgrade*/*/log/*")]
    assert done.returncode == 0, "\n".join([done.stdout[-2000:], done.stderr, *logs])


def test_the_oldest_major_here_becomes_the_newest() -> None:
    assert BINDIRS[0].major < BINDIRS[-1].major, "needs two majors: apt-get install postgresql-15"
    with server_of(0) as old, server_of(-1) as new:
        old.start()
        install(old.dsn())
        story(old.dsn())
        with psycopg.connect(old.dsn()) as conn:
            known = conn.execute("select id from pgbaton.job").fetchall()
            conn.execute("create table counted (n int)")
            conn.execute("alter table counted alter column n set (n_distinct = 17)")
            # Debian's 15.20 marks all columns with an option that 18.6 does not know.
            conn.execute(without_marks())
        old.stop()

        shutil.chown(new.home, old.data.stat().st_uid, old.data.stat().st_gid)
        # The locale must be that of the old cluster, and 15 has no checksums unless asked.
        initdb = [new.programs() / "initdb", f"--pgdata={new.data}", "--username=postgres"]
        initdb += ["--encoding=UTF8", "--locale=C", "--auth=trust", "--no-sync"]
        if new.major >= 18:
            initdb.append("--no-data-checksums")
        run(new, old.data, *initdb)
        both = ["--old-datadir", old.data, "--new-datadir", new.data, "--username=postgres"]
        both += [
            "--old-bindir",
            old.programs(),
            "--new-bindir",
            new.programs(),
            "--socketdir",
            new.home,
        ]
        run(new, old.data, new.programs() / "pg_upgrade", *both)

        (new.home / "lock").touch()  # the mark of a server of pgbaton
        new.start()
        with psycopg.connect(new.dsn(), autocommit=True) as conn:
            assert conn.info.server_version // 10000 == new.major
            assert_sound(conn)
            assert conn.execute("select id from pgbaton.job").fetchall() == known
            assert conn.execute("select pgbaton.enqueue_job('mail')").fetchone() not in known
            conn.execute("select pgbaton.run_maintenance()")
            options = "select attoptions from pg_attribute where attrelid = 'counted'::regclass"
            assert (["n_distinct=17"],) in conn.execute(options).fetchall()
        assert finish(new.dsn()) == len(known) + 1 - 30
        with psycopg.connect(new.dsn()) as conn:
            assert_sound(conn)
