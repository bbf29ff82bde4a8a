"""Releases as `make freeze` kept them, a next version made of one, and digests of a catalog."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from pgbaton import _assemble, embedded

HERE = Path(__file__).parent
CHECKOUT = _assemble.source_root()
RELEASES = (CHECKOUT / "migrations" / "releases.txt").read_text().split()
PSQL = shutil.which("psql", path=f"{embedded.default_bindir().path}:{os.environ['PATH']}") or "psql"
DIGEST = (HERE / "digest.sql").read_text().encode()

Fact = tuple[str, str, str]

# What the next version does to tables that exist, and what a fresh one has from the start.
NEXT_TABLES = """
alter table pgbaton.queue add column color text not null default 'grey';
comment on column pgbaton.queue.color is 'Colour on the board.';
create index queue_color_idx on pgbaton.queue (color) where color <> 'grey';
create table pgbaton.board (
    id bigint generated always as identity constraint board_pkey primary key,
    name text not null
) with (fillfactor = 80);
comment on table pgbaton.board is 'Boards.';
"""
GONE = "drop function pgbaton.two_phase_backoff(integer, interval, interval, integer, interval);"
NEXT_FUNCTION = """create or replace function pgbaton.queue_color(queue text)
returns text
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select q.color from pgbaton.queue as q where q.name = queue_color.queue $$;
comment on function pgbaton.queue_color(text) is 'Colour of a queue.';
"""
NEXT_VIEW = """
create or replace view pgbaton.boards as select b.name from pgbaton.board as b;
comment on view pgbaton.boards is 'Names of the boards.';
grant select on pgbaton.boards to pgbaton_monitor;
"""


def unpack(release: str, into: Path) -> Path:
    """The package of a release, as an environment that has it installed; returns its folder."""
    with tarfile.open(HERE / "releases" / f"{release}.tar.xz") as archive:
        # Our own archive. Debian 12 has Python 3.11.2, which knows no filters yet.
        how = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(into, **how)  # noqa: S202
    return into / "pgbaton"


def scripts_of(package: Path, into: Path) -> Path:
    """Writes the install scripts of a release with its own assembler."""
    command = [sys.executable, "-I", "-S", str(package / "_assemble.py"), str(into)]
    subprocess.run(command, check=True)
    return into


def next_version_of(release: str, package: Path, into: Path) -> Path:
    """A source tree of the version after `release`; returns its root."""
    shutil.copytree(package / "_sql", into)
    major, minor, _ = _assemble.number(release)
    version = f"{major}.{minor + 1}.0"
    control = into / "sql" / "pgbaton.control"
    control.write_text(control.read_text().replace(f"'{release}'", f"'{version}'"))
    (into / "migrations" / version).mkdir(parents=True)
    (into / "migrations" / "releases.txt").write_text(f"{release}\n")
    (into / "migrations" / version / "10_boards.sql").write_text(NEXT_TABLES)
    (into / "migrations" / version / "20_gone.sql").write_text(GONE)
    (into / "sql" / "schema" / "99_boards.sql").write_text(NEXT_TABLES)
    (into / "sql" / "replay" / "95_boards.sql").write_text(NEXT_VIEW)
    (into / "functions" / "monitor" / "queue_color.sql").write_text(NEXT_FUNCTION)
    (into / "functions" / "producer" / "two_phase_backoff.sql").unlink()
    return into


def run_script(dsn: str, file: Path) -> None:
    """Runs a script with psql, as a user would."""
    subprocess.run(
        [PSQL, "-X", "-q", dsn, "-f", str(file)], check=True, capture_output=True, text=True
    )


def facts(conn: psycopg.Connection[Any]) -> set[Fact]:
    """All that the catalog says of the schema pgbaton; never empty."""
    # As bytes and without parameters: a % in it means nothing.
    rows = set(conn.execute(DIGEST).fetchall())
    kinds = {kind for kind, _, _ in rows}
    missing = {"schema", "relation", "column", "index", "function", "grant", "view"} - kinds
    assert not missing, f"the digest says nothing of {missing}"
    return rows


def differences(one: set[Fact], other: set[Fact]) -> list[str]:
    """What only one of two catalogs says, in words for an assertion."""
    return list(_lines("-", one - other)) + list(_lines("+", other - one))


def _lines(sign: str, some: set[Fact]) -> Iterator[str]:
    for fact in sorted(some):
        yield f"{sign} {' | '.join(fact)}"
