"""Who may install, where, and what a second installation does."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from subprocess import CalledProcessError

import frozen
import psycopg
import pytest
from invariants import assert_sound
from psycopg import sql
from psycopg.conninfo import make_conninfo
from routes import ExtensionServer, finish, story
from whole_contract import call_everything

from pgbaton import Client, _assemble
from pgbaton import install as installer

DATABASE = 'a "quoted" Dätabase'


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("built")
    _assemble.write(frozen.CHECKOUT, built)
    return built


@pytest.fixture(params=["plain", "extension"])
def is_extension(
    request: pytest.FixtureRequest, extension_server: ExtensionServer, scripts: Path
) -> bool:
    extension_server.provide(scripts)
    return request.param == "extension"


def put_in(dsn: str, scripts: Path, is_extension: bool) -> None:
    if is_extension:
        with psycopg.connect(dsn) as conn:
            conn.execute("create extension pgbaton")
    else:
        frozen.run_script(dsn, scripts / "install.sql")


@pytest.mark.parametrize("first_is_extension", [False, True])
def test_a_second_installation_is_refused_and_harms_nothing(
    extension_server: ExtensionServer, scripts: Path, is_extension: bool, first_is_extension: bool
) -> None:
    dsn = extension_server.database("twice")
    put_in(dsn, scripts, first_is_extension)
    story(dsn)
    with psycopg.connect(dsn) as conn:
        before = frozen.facts(conn)
    with pytest.raises((psycopg.Error, CalledProcessError)) as refused:
        put_in(dsn, scripts, is_extension)
    assert "already exists" in getattr(refused.value, "stderr", str(refused.value))
    assert installer.install(dsn) == "unchanged"
    with psycopg.connect(dsn) as conn:
        assert frozen.differences(before, frozen.facts(conn)) == []
    finish(dsn)


def test_every_function_works_in_an_extension(
    extension_server: ExtensionServer, scripts: Path
) -> None:
    extension_server.provide(scripts)
    dsn = extension_server.database("whole")
    put_in(dsn, scripts, is_extension=True)
    with Client(dsn) as client:
        call_everything(client)
        checks = {check.check_name: check for check in client.health()}
    assert checks["partitions"].status == "ok"
    assert "is an extension here" in checks["partitions"].detail


@pytest.fixture
def stranger(extension_server: ExtensionServer) -> Iterator[str]:
    """A role that may do nothing but log in, and whose name needs quotes."""
    name = f'O\'Neil "the" Röle {uuid.uuid4().hex[:6]}'
    with psycopg.connect(extension_server.server.dsn(), autocommit=True) as admin:
        admin.execute(sql.SQL("create role {} login").format(sql.Identifier(name)))
        yield name
        drop = sql.SQL("drop database if exists {} with (force)")
        admin.execute(drop.format(sql.Identifier(DATABASE)))
        admin.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


def test_create_on_the_database_is_enough_and_any_names_will_do(
    extension_server: ExtensionServer, scripts: Path, is_extension: bool, stranger: str
) -> None:
    server = extension_server.server
    installer.install(extension_server.database("first"))  # an administrator made the roles
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        names = [sql.Identifier(DATABASE), sql.Identifier(stranger)]
        admin.execute(sql.SQL("create database {}").format(*names[:1]))
        admin.execute(sql.SQL("grant create on database {} to {}").format(*names))
    dsn = make_conninfo(server.dsn(), dbname=DATABASE, user=stranger)
    put_in(dsn, scripts, is_extension)
    with psycopg.connect(dsn) as conn:
        owners = conn.execute(
            "select distinct relowner::regrole::text from pg_class"
            " where relnamespace = 'pgbaton'::regnamespace"
        ).fetchall()
        assert owners == [('"' + stranger.replace('"', '""') + '"',)]

    # Who works with it is somebody else, with no right but its role.
    with psycopg.connect(make_conninfo(server.dsn(), dbname=DATABASE), autocommit=True) as admin:
        client = Client(connection=admin)
        for role in ("operator", "producer", "worker"):
            admin.execute(f"set session authorization pgbaton_{role}".encode())
            if role == "operator":
                client.create_fifo_queue("orders")
                client.grant_queue("pgbaton_worker", "orders", "work")
            if role == "producer":
                ids = client.enqueue_batch("orders", [1, 2], ["a", "b"])
            if role == "worker":
                jobs = client.claim_job_batch("w", ["orders"])
                assert [job.id for job in jobs] == ids
                assert client.complete_claim(jobs[0].lease_token) == 2
                client.run_maintenance()
        admin.execute("reset session authorization")
        assert {check.status for check in client.health()} <= {"ok", "warn", "bad"}
        assert_sound(admin)
