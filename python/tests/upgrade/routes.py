"""The two routes of installing and upgrading: plain SQL and the extension."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import frozen
import psycopg

from pgbaton import _assemble, embedded


@dataclass
class ExtensionServer:
    """A server of 18 or newer: it loads extensions from any folder."""

    server: embedded.Server
    folder: Path

    def provide(self, scripts: Path) -> None:
        """Makes these scripts the ones that `create extension` and its updates find."""
        shutil.rmtree(self.folder / "extension", ignore_errors=True)
        shutil.copytree(scripts, self.folder / "extension")
        (self.folder / "extension").chmod(0o755)

    def database(self, name: str) -> str:
        """A new database; one of that name is dropped first."""
        self.drop(name)
        with psycopg.connect(self.server.dsn(), autocommit=True) as conn:
            conn.execute(f'create database "{name}"'.encode())
        return self.server.dsn(dbname=name)

    def drop(self, name: str) -> None:
        with psycopg.connect(self.server.dsn(), autocommit=True) as conn:
            conn.execute(f'drop database if exists "{name}" with (force)'.encode())


@dataclass
class Upgrade:
    """From a release to a later source tree, in one of the two routes."""

    server: ExtensionServer
    is_extension: bool
    old: str
    scripts: Path  # of the release, of the later version, and between them
    tree: Path

    @property
    def new(self) -> str:
        return _assemble.version(self.tree)

    def install(self, version: str, name: str) -> str:
        """A new database with this version in it; returns its DSN."""
        dsn = self.server.database(name)
        self.put(version, dsn)
        return dsn

    def put(self, version: str, dsn: str) -> None:
        """Installs this version into a database that is empty."""
        if self.is_extension:
            self._execute(dsn, f"create extension pgbaton version '{version}'")
        else:
            frozen.run_script(dsn, self.scripts / f"install-{version}.sql")

    def upgrade(self, dsn: str) -> None:
        if self.is_extension:
            self._execute(dsn, f"alter extension pgbaton update to '{self.new}'")
        else:
            frozen.run_script(dsn, self.scripts / f"upgrade-from-{self.old}.sql")

    @staticmethod
    def _execute(dsn: str, statement: str) -> None:
        with psycopg.connect(dsn) as conn:
            conn.execute(statement.encode())


def story(dsn: str) -> None:
    """Jobs in every state, with and without keys; what runs is held by the token of a claim."""
    with psycopg.connect(dsn) as conn:
        conn.execute(STORY)


# Without create_queue's later parameters, so that every release can tell it.
STORY = """
    select pgbaton.create_queue('mail', max_attempts => 2, retry_delay => '0');
    select pgbaton.create_fifo_queue('orders', max_attempts => 1);
    select pgbaton.enqueue_batch('mail', array_fill('{"n": 1}'::jsonb, array[200]));
    select pgbaton.enqueue_batch('orders', array_fill('{"n": 2}'::jsonb, array[40]),
        array(select 'key ' || n % 8 from generate_series(1, 40) as n));
    select pgbaton.enqueue_job('mail', dedup_id => 'once', run_at => '2000-01-01 00:00+00');
    select pgbaton.claim_job_batch('done', '{mail}', batch_size => 30);
    select pgbaton.complete_claim((select max(lease_token) from pgbaton.span));
    select pgbaton.claim_job_batch('busy', '{mail}', batch_size => 20);
    select pgbaton.claim_job_batch('busy', '{orders}', batch_size => 8);
    select pgbaton.fail_job(
        (select min(lo) from pgbaton.span where singleton_key is not null and state = 'active'),
        'no',
        (select max(lease_token) from pgbaton.span)
    );
"""


def finish(dsn: str) -> int:
    """Ends what the story left, as workers and an operator would; returns how many jobs."""
    done = 0
    with psycopg.connect(dsn, autocommit=True) as conn:
        tokens = conn.execute(
            "select distinct lease_token from pgbaton.span where lease_token is not null"
        ).fetchall()
        for token in tokens:
            done += conn.execute("select pgbaton.complete_claim(%s)", token).fetchone()[0]
        conn.execute("select pgbaton.retry_jobs('orders')")
        while claimed := conn.execute(
            "select lease_token, count(*) from pgbaton.claim_job_batch('w', batch_size => 64)"
            " group by 1"
        ).fetchall():
            for token, count in claimed:
                completed = conn.execute("select pgbaton.complete_claim(%s)", [token]).fetchone()[0]
                assert completed == count
                done += completed
        left = conn.execute("select * from pgbaton.span").fetchall()
        assert left == []
    return done
