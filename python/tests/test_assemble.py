"""The assembler, on a tiny source tree of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from pgbaton import _assemble, embedded

# A server wheel brings its psql; Debian's is on the PATH.
PSQL = shutil.which("psql", path=f"{embedded.default_bindir().path}:{os.environ['PATH']}") or "psql"

FUNCTION = """create or replace function pgbaton.{name}() returns text
language sql stable set search_path = pg_catalog, pg_temp
as $$ {body} $$;
comment on function pgbaton.{name}() is 'says {name}';
"""


def add(root: Path, audience: str, name: str, body: str = "select 'x'") -> Path:
    file = root / "functions" / audience / f"{name}.sql"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(FUNCTION.format(name=name, body=body))
    return file


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    real = _assemble.source_root()
    shutil.copytree(real / "sql" / "wrap", tmp_path / "sql" / "wrap")
    shutil.copy(real / "sql" / "pgbaton.control", tmp_path / "sql")
    for file, text in [
        (
            "schema/10_tables.sql",
            "create table pgbaton.job (id int generated always as identity);\n",
        ),
        (
            "replay/10_views.sql",
            "create or replace view pgbaton.ids as select id from pgbaton.job;\n",
        ),
        ("replay/90_grants.sql", "grant select on pgbaton.ids to pgbaton_monitor;\n"),
    ]:
        (tmp_path / "sql" / file).parent.mkdir(exist_ok=True)
        (tmp_path / "sql" / file).write_text(text)
    add(tmp_path, "monitor", "version", "select '@version@'")
    add(tmp_path, "internal", "_first", "select pgbaton._second()")
    add(tmp_path, "internal", "_second")
    for audience in ("producer", "worker", "operator", "queue", "spark"):
        add(tmp_path, audience, f"in_{audience}", "select pgbaton._first()")
    return tmp_path


def test_the_plain_script_installs_with_psql_and_stamps_the_schema(
    tree: Path, empty_dsn: str, tmp_path: Path
) -> None:
    _assemble.write(tree, tmp_path / "out")
    psql = [PSQL, "-X", "-q", empty_dsn, "-f", tmp_path / "out" / "install.sql"]
    subprocess.run(psql, check=True)
    assert subprocess.run(psql, check=False, stderr=subprocess.DEVNULL).returncode == 3
    with psycopg.connect(empty_dsn) as conn:
        version = _assemble.version(tree)
        assert conn.execute("select pgbaton.version()").fetchone() == (version,)
        stamp = conn.execute("select obj_description('pgbaton'::regnamespace)").fetchone()
        assert stamp == (f"pgbaton {version} build {_assemble.digest(tree)}",)


def test_every_folder_grants_to_its_own_role(tree: Path, empty_dsn: str) -> None:
    expected = {
        "pgbaton_producer": {"in_producer", "in_spark", "version"},
        "pgbaton_worker": {"in_worker", "version"},
        "pgbaton_monitor": {"version"},
        "pgbaton_operator": {
            "in_producer", "in_spark", "in_worker", "in_operator", "in_queue", "version",
        },
    }  # fmt: skip
    with psycopg.connect(empty_dsn) as conn:
        conn.execute(_assemble.statements(tree).encode())
        for role, functions in expected.items():
            rows = conn.execute(
                "select proname from pg_proc where pronamespace = 'pgbaton'::regnamespace"
                " and has_function_privilege(%s, oid, 'execute')",
                [role],
            )
            assert {row[0] for row in rows} == functions, role
        in_public = conn.execute(
            "select proname from pg_proc, aclexplode(proacl)"
            " where pronamespace = 'pgbaton'::regnamespace and grantee = 0"
        )
        assert in_public.fetchall() == []


def test_a_fresh_install_adopts_nothing(tree: Path, empty_dsn: str) -> None:
    script = _assemble.statements(tree)
    assert "create function pgbaton.version()" in script
    assert "create view pgbaton.ids" in script
    assert "or replace" not in script


def test_functions_come_after_what_they_call(tree: Path) -> None:
    script = _assemble.statements(tree)
    assert script.index("function pgbaton._second()") < script.index("function pgbaton._first()")


def test_functions_that_call_each_other_are_kept_once_each(tree: Path) -> None:
    add(tree, "internal", "_a", "select pgbaton._b()")
    add(tree, "internal", "_b", "select pgbaton._a()")
    names = [f.stem for f in _assemble.callees_first(_assemble.function_files(tree))]
    assert sorted(names) == sorted(f.stem for f in _assemble.function_files(tree))
    assert len(set(names)) == len(names)


def test_the_digest_follows_the_sources(tree: Path) -> None:
    before = _assemble.digest(tree)
    assert _assemble.digest(tree) == before
    add(tree, "worker", "in_worker", "select 'changed'")
    assert _assemble.digest(tree) != before


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda t: add(t, "worker", "a").rename(t / "functions/worker/b.sql"), "must create"),
        (lambda t: (t / "functions/worker/empty.sql").write_text(""), "must create"),
        (lambda t: add(t, "admin", "a"), "is in no audience folder"),
        (lambda t: (t / "sql/pgbaton.control").write_text(""), "has no default_version"),
    ],
    ids=["misnamed", "empty", "unknown folder", "no version"],
)
def test_a_source_tree_that_breaks_the_rules_is_refused(
    tree: Path, break_it: Callable[[Path], object], message: str
) -> None:
    break_it(tree)
    with pytest.raises(_assemble.SourceError, match=message):
        _assemble.statements(tree)


def test_it_runs_as_a_script_without_our_packages(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", _assemble.__file__, str(tmp_path)]
    subprocess.run(command, check=True)
    version = _assemble.version(_assemble.source_root())
    built = {file.name for file in tmp_path.iterdir()}
    upgrades = {
        name
        for earlier in _assemble.earlier_releases(_assemble.source_root())
        for name in (f"upgrade-from-{earlier}.sql", f"pgbaton--{earlier}--{version}.sql")
    }
    assert built == {"install.sql", "pgbaton.control", f"pgbaton--{version}.sql"} | upgrades
    assert "\\quit" in (tmp_path / f"pgbaton--{version}.sql").read_text().splitlines()[0]


def test_roles_that_may_not_be_created_are_named_in_the_hint(empty_dsn: str) -> None:
    roles = (_assemble.source_root() / "sql/wrap/roles.sql").read_text()
    unprivileged = roles.replace("pgbaton_", "pgbaton_absent_")
    with psycopg.connect(empty_dsn) as conn:
        conn.execute("create role pgbaton_nobody; set local role pgbaton_nobody")
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
            conn.execute(unprivileged.encode())
        conn.rollback()
    hint = caught.value.diag.message_hint or ""
    for role in ("producer", "worker", "monitor", "operator"):
        assert f"create role pgbaton_absent_{role} nologin" in hint


def test_the_extension_keeps_rows_and_counters_through_dump_and_restore(
    tree: Path, tmp_path: Path
) -> None:
    bindir = next((b for b in embedded.find_bindirs() if b.major >= 18), None)
    if bindir is None:
        pytest.skip("needs PostgreSQL 18, which can load an extension from any directory")
    files = Path(tempfile.mkdtemp(prefix="/tmp/pgbaton-extension-"))
    files.chmod(0o755)
    _assemble.write(tree, files / "extension")
    settings = {"extension_control_path": f"$system:{files}"}
    try:
        with embedded.temporary_server(bindir, settings) as server:
            with psycopg.connect(server.dsn(), autocommit=True) as conn:
                conn.execute("create extension pgbaton")
                conn.execute("insert into pgbaton.job default values")
                conn.execute("create database restored")
            dumped = tmp_path / "dump.sql"
            subprocess.run([bindir.path / "pg_dump", "-f", dumped, server.dsn()], check=True)
            restored = server.dsn(dbname="restored")
            load = [PSQL, "-Xq", "-v", "ON_ERROR_STOP=1", "-f", dumped, restored]
            subprocess.run(load, check=True, stdout=subprocess.DEVNULL)
            with psycopg.connect(restored) as conn:
                conn.execute("insert into pgbaton.job default values")
                rows = conn.execute("select id from pgbaton.ids order by id").fetchall()
            assert rows == [(1,), (2,)]
    finally:
        shutil.rmtree(files)
