"""Installing: from Python, from the command line, and from a wheel that was built from an sdist."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import dict_row
from typer.testing import CliRunner, Result

from pgbaton import _assemble
from pgbaton import install as installer
from pgbaton.cli import app
from pgbaton.embedded import Server, temporary_server

ROOT = _assemble.source_root()
OTHER_BUILD = "comment on schema pgbaton is 'pgbaton {} build 0123456789abcdef'"


@pytest.fixture(autouse=True)
def no_server_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGBATON_DSN", raising=False)


def run(*arguments: str, input: str | None = None) -> Result:
    return CliRunner().invoke(app, arguments, input=input)


def functions_in(dsn: str) -> int:
    with psycopg.connect(dsn) as conn:
        row = conn.execute(
            "select count(*) from pg_proc where pronamespace::regnamespace::text = 'pgbaton'"
        )
        return int(row.fetchone()[0])  # type: ignore[index]


def restamp(dsn: str, version: str) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute(OTHER_BUILD.format(version).encode())


def test_installing_twice_changes_nothing(empty_dsn: str) -> None:
    assert installer.install(empty_dsn) == "installed"
    assert installer.install(empty_dsn) == "unchanged"
    assert functions_in(empty_dsn) == len(_assemble.function_files(ROOT))


def test_two_installers_at_once_do_not_collide(empty_dsn: str) -> None:
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(installer.install, [empty_dsn, empty_dsn]))
    assert sorted(outcomes) == ["installed", "unchanged"]


def test_two_databases_of_a_new_server_may_make_the_roles_at_once() -> None:
    with temporary_server() as server:
        with psycopg.connect(server.dsn(), autocommit=True) as conn:
            conn.execute("create database one")
            conn.execute("create database two")
        with ThreadPoolExecutor(2) as pool:
            dsns = [server.dsn(dbname="one"), server.dsn(dbname="two")]
            assert list(pool.map(installer.install, dsns)) == ["installed", "installed"]


def test_an_own_connection_is_used_and_left_as_it_was(empty_dsn: str) -> None:
    with psycopg.connect(empty_dsn, row_factory=dict_row) as conn:
        before = conn.execute("show search_path").fetchone()
        conn.rollback()
        assert installer.install(conn) == "installed"
        assert conn.execute("show search_path").fetchone() == before
    assert functions_in(empty_dsn) > 0


def test_a_connection_inside_a_transaction_is_refused(empty_dsn: str) -> None:
    with psycopg.connect(empty_dsn) as conn:
        conn.execute("select 1")
        with pytest.raises(installer.InstallError, match="not inside a transaction"):
            installer.install(conn)


def test_a_failed_install_leaves_nothing(empty_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _assemble.statements(ROOT)
    monkeypatch.setattr(_assemble, "statements", lambda root: whole + "select 1 / 0;")
    with pytest.raises(psycopg.errors.DivisionByZero):
        installer.install(empty_dsn)
    with psycopg.connect(empty_dsn) as conn:
        assert installer.installed(conn) is None


@pytest.mark.parametrize("version", [installer.version(), "0.0.9"])
def test_another_build_is_replaced_only_on_request(dsn: str, version: str) -> None:
    restamp(dsn, version)
    with pytest.raises(installer.InstallError, match="--replace drops the schema"):
        installer.install(dsn)
    assert installer.install(dsn, replace=True) == "replaced"
    assert installer.install(dsn) == "unchanged"


@pytest.mark.parametrize("replace", [False, True])
def test_a_schema_of_somebody_else_is_never_touched(empty_dsn: str, replace: bool) -> None:
    with psycopg.connect(empty_dsn) as conn:
        conn.execute("create schema pgbaton; create table pgbaton.precious ()")
    with pytest.raises(installer.InstallError, match="that pgbaton did not make"):
        installer.install(empty_dsn, replace=replace)
    with psycopg.connect(empty_dsn) as conn:
        conn.execute("select from pgbaton.precious")


def test_the_command_says_what_it_did(empty_dsn: str) -> None:
    version = installer.version()
    assert run("version").stdout == f"{version}\n"
    assert run("install", "--dsn", empty_dsn).stderr == f"installed pgbaton {version}\n"
    again = run("install", "--dsn", empty_dsn)
    assert (again.exit_code, again.stderr) == (0, f"pgbaton {version} is installed already\n")


def test_the_command_does_not_drop_unasked(dsn: str) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute("create table pgbaton.marker ()")
    refused = run("install", "--replace", "--dsn", dsn, input="n\n")
    assert (refused.exit_code, "nobody to ask" in refused.stderr) == (2, True)
    with psycopg.connect(dsn) as conn:
        conn.execute("select from pgbaton.marker")

    assert run("install", "--replace", "--yes", "--dsn", dsn).exit_code == 0
    with psycopg.connect(dsn) as conn, pytest.raises(psycopg.errors.UndefinedTable):
        conn.execute("select from pgbaton.marker")


def test_errors_are_one_sentence(dsn: str) -> None:
    restamp(dsn, "0.0.9")
    for arguments in (
        ("install", "--dsn", dsn),
        ("install", "--dsn", "postgresql://127.0.0.1:1/nothing"),
        ("install", "--dsn", "no such thing"),
    ):
        result = run(*arguments)
        assert result.exit_code == 1
        assert result.stdout == ""
        assert result.stderr.startswith("pgbaton: ")
        assert result.stderr.count("\n") == 1


@pytest.fixture
def own_data(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place for the embedded database of the command line that is only ours."""
    with tempfile.TemporaryDirectory(prefix="pgbaton-test-", dir="/tmp") as directory:
        Path(directory).chmod(0o755)
        monkeypatch.setenv("PGBATON_DATA", directory)
        yield Path(directory)
        Server().stop()


@pytest.mark.usefixtures("own_data")
def test_the_embedded_database_follows_the_checkout() -> None:
    assert run("db", "dsn").exit_code == 1
    first = run("db", "start")
    assert first.exit_code == 0
    dsn = first.stdout.removesuffix("\n")
    assert "\n" not in dsn
    assert functions_in(dsn) > 0

    psql = [sys.executable, "-m", "pgbaton.cli", "db", "psql", "--", "-Atc", "select 6 * 7"]
    assert subprocess.run(psql, capture_output=True, text=True, check=True).stdout == "42\n"
    assert run("db", "start").stdout == first.stdout == run("db", "dsn").stdout
    for version in (installer.version(), "0.1.0.dev0", "0.0.9.dev1"):
        restamp(dsn, version)
        assert "dropped pgbaton with all its jobs" in run("db", "start").stderr  # it has none
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("select pgbaton.create_queue('mail')")
        conn.execute("select pgbaton.enqueue_batch('mail', '{1,2}')")
        restamp(dsn, installer.version())
        for arguments in ((), ("--replace",)):
            refused = run("db", "start", *arguments)
            assert refused.exit_code != 0
            assert refused.stdout == ""
            assert conn.execute("select count(*) from pgbaton.job").fetchone() == (2,)
        refused = run("db", "start")
        assert "another build is installed, with 1 queue and 2 jobs" in refused.stderr
        assert "pgbaton db start --replace" in refused.stderr
        opened = subprocess.run(psql, capture_output=True, text=True, check=True)
        assert opened.stdout == "42\n"
        assert "another build is installed" in opened.stderr
        conn.execute("alter table pgbaton.queue rename to another")
        assert "what only it can read" in run("db", "start").stderr
    restamp(dsn, "9.9.9")
    assert "newer than this" in run("db", "start", "--replace", "--yes").stderr
    opened = subprocess.run(psql, capture_output=True, text=True, check=True)
    assert (opened.stdout, "newer than this" in opened.stderr) == ("42\n", True)
    restamp(dsn, "0.1.0.dev0")
    replaced = run("db", "start", "--replace", "--yes")
    assert "dropped pgbaton with all its jobs" in replaced.stderr
    assert replaced.stdout == first.stdout
    assert functions_in(run("db", "dsn", "--tcp").stdout.strip()) > 0
    assert run("db", "stop").exit_code == 0
    assert not Server().is_running()


def test_a_server_of_the_user_is_used_but_never_dropped_or_stopped(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGBATON_DSN", dsn)
    assert run("db", "start").stdout == f"{dsn}\n"
    assert run("db", "dsn").stdout == f"{dsn}\n"
    assert run("db", "stop").exit_code == 1
    restamp(dsn, installer.version())
    assert run("db", "start").exit_code == 1
    refused = run("db", "start", "--replace", "--yes")
    assert "PGBATON_DSN names a server of your own" in refused.stderr


def test_a_wheel_from_an_sdist_installs_the_same_build(empty_dsn: str, tmp_path: Path) -> None:
    # `python -m build` makes the sdist first and then the wheel from it, not from the checkout.
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    assert len(list(tmp_path.glob("pgbaton-*.tar.gz"))) == 1
    (wheel,) = tmp_path.glob("pgbaton-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")

    # The package itself comes from the wheel, its dependencies from our own environment.
    command = [sys.executable, "-m", "pgbaton.cli", "install", "--dsn", empty_dsn]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    subprocess.run(command, check=True, cwd=tmp_path, env=environment)
    with psycopg.connect(empty_dsn) as conn:
        found = installer.installed(conn)
    assert found == installer.Installed(installer.version(), installer.build(), is_extension=False)
    assert (tmp_path / "site" / "pgbaton" / "_sql" / "migrations" / "README.md").is_file()
