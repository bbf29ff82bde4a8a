"""Dumped and restored, upgraded with pg_upgrade, replicated: jobs and counters come along."""

from __future__ import annotations

import subprocess
from pathlib import Path

import frozen
import psycopg
import pytest
from invariants import assert_sound
from routes import ExtensionServer, finish, story

from pgbaton import _assemble
from pgbaton.embedded import Server
from pgbaton.install import install

JOBS = 241


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make build` makes of the checkout."""
    built = tmp_path_factory.mktemp("built")
    _assemble.write(frozen.CHECKOUT, built)
    return built


def dump(server: Server, dsn: str, into: Path, *options: str) -> Path:
    subprocess.run([server.bindir / "pg_dump", *options, f"--file={into}", dsn], check=True)
    return into


def count(dsn: str) -> None:
    """Counters that are no sums of what there is: one in a sequence, one in rows of their own."""
    with psycopg.connect(dsn) as conn:
        conn.execute("select nextval('pgbaton.wake_up_seq') from generate_series(1, 7)")
        conn.execute(
            "insert into pgbaton.lease_loss (queue_id, jobs)"
            " select id, 5 from pgbaton.queue where name = 'mail'"
        )


def as_dumped(facts: set[frozen.Fact]) -> set[frozen.Fact]:
    """Without the text of views: PostgreSQL writes it with other brackets once it was restored."""
    return {fact for fact in facts if fact[0] not in ("view", "rule")}


def goes_on(dsn: str, before: set[frozen.Fact]) -> None:
    """The copy is complete: same catalog, same jobs, and the next job gets an id of its own."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        assert frozen.differences(as_dumped(before), as_dumped(frozen.facts(conn))) == []
        assert_sound(conn)
        counted = "select pgbaton.wake_ups(), lease_losses from pgbaton.job_totals('mail')"
        assert conn.execute(counted).fetchone() == (7, 5)
        known = conn.execute("select id from pgbaton.job").fetchall()
        assert len(known) == JOBS
        new = conn.execute("select pgbaton.enqueue_job('mail')").fetchone()
        assert new not in known
        conn.execute("select pgbaton.enqueue_job('orders', singleton_key => 'key 1')")
        with pytest.raises(psycopg.Error) as caught:
            conn.execute("select pgbaton.enqueue_job('mail', dedup_id => 'once')")
        assert caught.value.sqlstate == "PB006"
        conn.execute("select pgbaton.run_maintenance()")
    assert finish(dsn) == JOBS + 2 - 30
    with psycopg.connect(dsn) as conn:
        assert_sound(conn)


def test_a_plain_installation_is_dumped_and_restored(
    extension_server: ExtensionServer, tmp_path: Path
) -> None:
    dsn = extension_server.database("dumped")
    install(dsn)
    story(dsn)
    count(dsn)
    with psycopg.connect(dsn) as conn:
        before = frozen.facts(conn)
    server = extension_server.server
    as_text = dump(server, dsn, tmp_path / "dump.sql")
    restored = extension_server.database("restored from text")
    load = [frozen.PSQL, "-Xq1", "-v", "ON_ERROR_STOP=1", "-f", as_text, restored]
    subprocess.run(load, check=True, stdout=subprocess.DEVNULL)
    goes_on(restored, before)

    archive = dump(server, dsn, tmp_path / "dump", "--format=custom")
    restored = extension_server.database("restored from an archive")
    load = [server.bindir / "pg_restore", "--single-transaction", "-d", restored, archive]
    subprocess.run(load, check=True)
    goes_on(restored, before)


@pytest.mark.parametrize("days", [0, 9])
def test_an_extension_is_dumped_and_restored(
    days: int, extension_server: ExtensionServer, scripts: Path, tmp_path: Path
) -> None:
    extension_server.provide(scripts)
    dsn = extension_server.database("dumped")
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("create extension pgbaton")
        conn.execute("select pgbaton.run_maintenance()")
        before = frozen.facts(conn)
    story(dsn)
    count(dsn)
    dumped = dump(extension_server.server, dsn, tmp_path / "dump.sql")

    # Restored by a server whose clock says another day than the one that was dumped.
    name = f"pgbaton--{_assemble.version(frozen.CHECKOUT)}.sql"
    today = (scripts / name).read_text()
    later = today.replace("clock_timestamp()", f"clock_timestamp() + interval '{days} days'")
    assert later != today
    (extension_server.folder / "extension" / name).write_text(later)
    restored = extension_server.database("restored")
    load = [frozen.PSQL, "-Xq1", "-v", "ON_ERROR_STOP=1", "-f", dumped, restored]
    subprocess.run(load, check=True, stdout=subprocess.DEVNULL)
    with psycopg.connect(restored) as conn:
        conn.execute((frozen.CHECKOUT / "functions/internal/time/_now.sql").read_text().encode())
    goes_on(restored, before)


@pytest.mark.parametrize("is_extension", [False, True])
def test_every_table_can_be_replicated(
    is_extension: bool, extension_server: ExtensionServer, scripts: Path
) -> None:
    """A publication makes updates and deletes fail where rows have no identity."""
    dsn = extension_server.database("published")
    if is_extension:
        extension_server.provide(scripts)
        with psycopg.connect(dsn) as conn:
            conn.execute("create extension pgbaton")
    else:
        install(dsn)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("create publication everything for all tables")
        conn.execute("select pgbaton.run_maintenance()")
    story(dsn)
    lives_in_full(dsn)
    with psycopg.connect(dsn) as conn:
        without = conn.execute("""
            select c.oid::regclass::text from pg_class as c
            where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'p')
                and c.relpersistence = 'p' and c.relreplident <> 'f' and not exists (
                    select from pg_index as i where i.indrelid = c.oid and i.indisprimary
                )
        """).fetchall()
        assert without == []


def lives_in_full(dsn: str) -> None:
    """Every kind of update and delete, until the day is dropped."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(
            "select pgbaton.cancel_jobs(job_ids => array(select lo from pgbaton.span limit 9))"
        )
    finish(dsn)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(
            "select pgbaton.delete_jobs("
            "job_ids => array(select lo from pgbaton.job_history limit 3))"
        )
        conn.execute("select pgbaton.enqueue_job('mail') from generate_series(1, 3)")
        conn.execute(
            "create or replace function pgbaton._now() returns timestamptz language sql volatile"
            " set search_path = pg_catalog, pg_temp as $$ select clock_timestamp() + '40 days' $$"
        )
        conn.execute("select pgbaton.enqueue_job('mail', '{}') from generate_series(1, 3)")
        conn.execute("select pgbaton.run_maintenance()")
        assert conn.execute("select count(*) from pgbaton.job").fetchone() == (6,)
        conn.execute("select pgbaton.drop_queue('mail', true), pgbaton.drop_queue('orders', true)")


@pytest.mark.proof
@pytest.mark.parametrize("below_xid", [3, 10**15])
def test_watermarks_mean_no_harm_where_transactions_are_counted_otherwise(
    below_xid: int, extension_server: ExtensionServer, tmp_path: Path
) -> None:
    """A server that a dump is restored to may be far ahead with its transaction ids, or behind."""
    dsn = extension_server.database("watermarks")
    install(dsn)
    # One by one, so that each draws a position of its own.
    thousand = "select pgbaton.enqueue_job('mail') from generate_series(1, 1000)"
    claim = "select lease_token from pgbaton.claim_job_batch('w', batch_size => 200) limit 1"
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("select pgbaton.create_queue('mail'), pgbaton.create_fifo_queue('orders')")
        for _ in range(5):
            conn.execute(thousand)
            for _ in range(4):
                token = conn.execute(claim).fetchone()
                conn.execute("select pgbaton.complete_claim(%s)", token)
        lanes = "select count(*) > 0 from pgbaton.watermark where kind = 'lane'"
        assert conn.execute(lanes).fetchone() == (True,)
        conn.execute("update pgbaton.watermark set below_xid = %s::text::xid8", [below_xid])
    restored = extension_server.database("restored")
    dumped = dump(extension_server.server, dsn, tmp_path / "dump.sql")
    load = [frozen.PSQL, "-Xq1", "-v", "ON_ERROR_STOP=1", "-f", dumped, restored]
    subprocess.run(load, check=True, stdout=subprocess.DEVNULL)
    with psycopg.connect(restored, autocommit=True) as conn:
        assert finish(restored) == 1000
        for _ in range(3):
            conn.execute(thousand)
            assert finish(restored) == 1000
        conn.execute(
            "create or replace function pgbaton._now() returns timestamptz language sql volatile"
            " as $$ select clock_timestamp() + interval '1 hour' $$"
        )
        conn.execute(thousand)
        conn.execute("select pgbaton.run_maintenance()")
        assert finish(restored) == 1000
        assert_sound(conn)
