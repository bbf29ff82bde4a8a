"""An upgraded database is like a fresh one, in both routes, and its jobs live on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any, LiteralString

import frozen
import psycopg
import pytest
from invariants import assert_sound
from load import Load, wait_until
from psycopg.conninfo import make_conninfo
from routes import ExtensionServer, Upgrade, finish, story
from typer.testing import CliRunner

from pgbaton import _assemble
from pgbaton import install as installer
from pgbaton.cli import app

Connection = psycopg.Connection[Any]

JOBS = 241
# Drops a partial index, whichever there is, and perhaps makes another one of it.
INDEX = """
    do $$
    declare
        v_index regclass;
        v_definition text;
    begin
        select i.indexrelid, pg_get_indexdef(i.indexrelid) into strict v_index, v_definition
        from pg_index as i inner join pg_class as c on c.oid = i.indexrelid
        where c.relnamespace = 'pgbaton'::regnamespace and i.indpred is not null
            and c.relkind = 'i' and not c.relispartition and not i.indisunique
        limit 1;
        execute format('drop index %s', v_index);
        {then};
    end;
    $$
"""
PLANTED: dict[str, LiteralString] = {
    "cost": "alter function pgbaton.claim_job_batch cost 5000",
    "volatility": "alter function pgbaton.version() volatile",
    "setting": "alter function pgbaton.claim_job_batch reset plan_cache_mode",
    "security": "alter function pgbaton.get_job security invoker",
    "body": "create or replace function pgbaton._now() returns timestamptz"
    " language sql volatile set search_path = pg_catalog, pg_temp as $$ select now() $$",
    "default of a column": "alter table pgbaton.span alter column attempt set default 1",
    "default of a parameter": "create or replace function"
    " pgbaton.resume_queue(queue text default '') returns void language plpgsql as $$ begin end $$",
    "not null": "alter table pgbaton.span alter column lane_id drop not null",
    "check": "alter table pgbaton.queue_grant drop constraint queue_grant_action_check",
    "fillfactor": "alter table pgbaton.span set (fillfactor = 80)",
    "fillfactor of a partition": "alter table pgbaton.job_default set (fillfactor = 80)",
    "replica identity": "alter table pgbaton.span replica identity nothing",
    "comment": "comment on column pgbaton.span.lo is 'changed'",
    "no comment": "comment on function pgbaton.version() is null",
    "revoke": "revoke execute on function pgbaton.enqueue_job from pgbaton_producer",
    "grant to public": "grant execute on function pgbaton._now() to public",
    "predicate": INDEX.format(then="execute replace(v_definition, ' WHERE ', ' WHERE true AND ')"),
    "missing index": INDEX.format(then="null"),
    "cache of a sequence": "alter sequence pgbaton.job_id_seq cache 1",
    "label of a type": "alter type pgbaton.queue_policy add value 'other'",
    "field of a type": "alter type pgbaton.verdict add attribute more text",
    "view": "create or replace view pgbaton.jobs as select l.*, 1 as one from pgbaton.jobs as l",
    "trigger": "alter table pgbaton.inbox_row disable trigger enqueue_inbox_rows",
    "owner": "alter table pgbaton.kv owner to pgbaton_operator",
    "member": "alter extension pgbaton drop function pgbaton.version()",
    "dump": "update pg_extension set extconfig = extconfig[2:], extcondition = extcondition[2:]"
    " where extname = 'pgbaton'",
}
# They change what only an extension has.
OF_EXTENSIONS = {"member", "dump"}


def test_an_upgraded_database_is_like_a_fresh_one(route: Upgrade) -> None:
    upgraded = route.install(route.old, "upgraded")
    story(upgraded)
    route.upgrade(upgraded)
    fresh = route.install(route.new, "fresh")
    with psycopg.connect(upgraded) as one, psycopg.connect(fresh) as other:
        assert frozen.differences(frozen.facts(one), frozen.facts(other)) == []
        version = one.execute("select pgbaton.version()").fetchone()
    assert version == (route.new,)
    with psycopg.connect(upgraded) as conn:
        assert_sound(conn)
    assert finish(upgraded) == JOBS - 30
    with psycopg.connect(upgraded) as conn:
        assert_sound(conn)
        rows = conn.execute("select state, sum(hi - lo + 1) from pgbaton.job_history group by 1")
        assert rows.fetchall() == [("completed", JOBS)]


@pytest.mark.parametrize("what", PLANTED)
def test_the_digest_finds(what: str, extension_server: ExtensionServer, planted: str) -> None:
    dsn = extension_server.server.dsn(dbname=planted)
    with psycopg.connect(dsn) as conn:
        before = frozen.facts(conn)
        conn.execute(PLANTED[what])
        assert frozen.differences(before, frozen.facts(conn)) != []
        conn.rollback()
        assert frozen.differences(before, frozen.facts(conn)) == []


@pytest.fixture(scope="module")
def planted(extension_server: ExtensionServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a database with the checkout as an extension in it."""
    scripts = tmp_path_factory.mktemp("checkout")
    _assemble.write(frozen.CHECKOUT, scripts)
    extension_server.provide(scripts)
    with psycopg.connect(extension_server.database("planted")) as conn:
        conn.execute("create extension pgbaton")
    return "planted"


def test_the_digest_fails_where_there_is_nothing(empty_dsn: str) -> None:
    with psycopg.connect(empty_dsn) as conn:
        with pytest.raises(psycopg.errors.InvalidSchemaName):
            frozen.facts(conn)
        conn.rollback()
        conn.execute("create schema pgbaton")
        with pytest.raises(AssertionError, match="says nothing of"):
            frozen.facts(conn)


def test_its_owner_may_upgrade_it(route: Upgrade) -> None:
    installer.install(route.server.database("roles"))  # an administrator made the roles
    dsn = route.server.database("owned")
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("drop role if exists pgbaton_test_owner")
        admin.execute("create role pgbaton_test_owner login")
        admin.execute("grant create on database owned to pgbaton_test_owner")
    as_owner = make_conninfo(dsn, user="pgbaton_test_owner")
    route.put(route.old, as_owner)
    route.upgrade(as_owner)
    with psycopg.connect(dsn) as conn:
        assert conn.execute("select pgbaton.version()").fetchone() == (route.new,)
        owners = conn.execute(
            "select distinct proowner::regrole::text from pg_proc"
            " where pronamespace = 'pgbaton'::regnamespace"
        )
        assert owners.fetchall() == [("pgbaton_test_owner",)]
    story(dsn)
    assert finish(dsn) == JOBS - 30
    route.server.drop("owned")
    with psycopg.connect(route.server.server.dsn()) as admin:
        admin.execute("drop role pgbaton_test_owner")


def test_workers_go_on_while_it_is_upgraded(route: Upgrade) -> None:
    dsn = route.install(route.old, "busy")
    with psycopg.connect(dsn) as conn:
        conn.execute("select pgbaton.create_queue('mail'), pgbaton.create_fifo_queue('orders')")
    load = Load(dsn, reconnects=True)
    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(load.produce, n) for n in range(2)]
        running += [threads.submit(load.work, n) for n in range(2)]
        wait_until(lambda: len(load.completed) > 100, "jobs to be completed")
        route.upgrade(dsn)
        before = len(load.completed)
        wait_until(lambda: len(load.completed) > before + 100, "workers to go on")
        load.stop.set()
        for one in running:
            one.result()
    with psycopg.connect(dsn, autocommit=True) as conn:
        load.check(conn)
        assert_sound(conn)
        assert conn.execute("select pgbaton.version()").fetchone() == (route.new,)
        fresh = route.install(route.new, "fresh")
        with psycopg.connect(fresh) as other:
            assert frozen.differences(frozen.facts(conn), frozen.facts(other)) == []


@pytest.fixture
def next_package(route: Upgrade, monkeypatch: pytest.MonkeyPatch) -> Upgrade:
    """As if the package of the later version were installed here."""
    monkeypatch.setattr(_assemble, "source_root", lambda: route.tree)
    return route


def test_the_package_upgrades_what_it_finds(next_package: Upgrade) -> None:
    dsn = next_package.install(next_package.old, "by the package")
    if next_package.is_extension:
        for call in (installer.install, installer.upgrade):
            with pytest.raises(installer.InstallError, match="alter extension pgbaton update"):
                call(dsn)
        next_package.upgrade(dsn)
        assert installer.install(dsn) == "unchanged"
        return
    with pytest.raises(installer.InstallError, match="run pgbaton upgrade"):
        installer.install(dsn)
    assert CliRunner().invoke(app, ["upgrade", "--dsn", dsn]).exit_code == 0
    assert installer.upgrade(dsn) == installer.install(dsn) == "unchanged"
    with psycopg.connect(dsn) as conn:
        found = installer.installed(conn)
    assert found == installer.Installed(next_package.new, installer.build(), is_extension=False)


def test_there_is_no_way_back(route: Upgrade) -> None:
    dsn = route.install(route.new, "newer")
    if route.is_extension:
        with psycopg.connect(dsn) as conn, pytest.raises(psycopg.Error, match="no update path"):
            conn.execute(f"alter extension pgbaton update to '{route.old}'".encode())
    else:
        with pytest.raises(CalledProcessError) as failed:
            frozen.run_script(dsn, route.scripts / f"upgrade-from-{route.old}.sql")
        assert f"pgbaton {route.old} is not what is installed here" in failed.value.stderr
    with psycopg.connect(dsn) as conn:
        assert conn.execute("select pgbaton.version()").fetchone() == (route.new,)


@pytest.mark.parametrize("newer", ["0.99.0", "1.0.0"])
def test_an_older_package_refuses_a_newer_schema(dsn: str, newer: str) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute(f"comment on schema pgbaton is 'pgbaton {newer} build 0'".encode())
    for call in (installer.install, installer.upgrade):
        with pytest.raises(installer.InstallError, match="there is no way back"):
            call(dsn)


def test_there_is_nothing_to_upgrade(empty_dsn: str) -> None:
    with pytest.raises(installer.InstallError, match="run pgbaton install"):
        installer.upgrade(empty_dsn)


def test_an_upgrade_that_must_wait_for_too_long_changes_nothing(
    route: Upgrade, tmp_path: Path
) -> None:
    dsn = route.install(route.old, "blocked")
    for script in route.scripts.iterdir():
        patient = script.read_text()
        hurried = patient.replace("set local lock_timeout = '5s'", "set local lock_timeout = 1")
        (tmp_path / script.name).write_text(hurried)
    route.server.provide(tmp_path)
    with psycopg.connect(dsn) as conn:
        before = frozen.facts(conn)
        conn.execute("lock table pgbaton.queue in access share mode")
        with pytest.raises((psycopg.errors.LockNotAvailable, CalledProcessError)) as failed:
            replace(route, scripts=tmp_path).upgrade(dsn)
        assert "lock timeout" in getattr(failed.value, "stderr", str(failed.value))
        assert frozen.differences(before, frozen.facts(conn)) == []
