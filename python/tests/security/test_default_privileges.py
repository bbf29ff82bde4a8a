"""Default privileges of whoever installs pgbaton open no door beside the functions.

`alter default privileges grant select on tables to reporting` is usual, and concerns each table
that the role makes from then on: those of pgbaton, and each day's partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import sql

from pgbaton.install import install

GIVEN = """
    select 'relation', c.relname::text, g.grantee::regrole::text, g.privilege_type
    from pg_class as c cross join lateral aclexplode(c.relacl) as g
    where c.relnamespace = 'pgbaton'::regnamespace and g.grantee <> c.relowner
    union
    select 'routine', p.oid::regprocedure::text, g.grantee::regrole::text, g.privilege_type
    from pg_proc as p
    cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as g
    where p.pronamespace = 'pgbaton'::regnamespace and g.grantee <> p.proowner
    union
    select 'schema', n.nspname::text, g.grantee::regrole::text, g.privilege_type
    from pg_namespace as n cross join lateral aclexplode(n.nspacl) as g
    where n.nspname = 'pgbaton' and g.grantee <> n.nspowner
"""
DEFAULTS = {
    "tables": "all",
    "sequences": "all",
    "routines": "execute",
    "schemas": "usage",
}
LATER = """
    create or replace function pgbaton._now() returns timestamptz language sql
    as $$ select clock_timestamp() + interval '9 days' $$
"""


@pytest.fixture
def reporting(server_dsn: str) -> str:
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute("drop role if exists pgbaton_test_reporting")
        admin.execute("create role pgbaton_test_reporting")
    return "pgbaton_test_reporting"


def given(conn: psycopg.Connection[Any]) -> set[tuple[str, ...]]:
    rows = conn.execute(GIVEN).fetchall()
    return {row for row in rows if not row[1][-8:].isdigit()}


@pytest.mark.parametrize("grantee", ["public", "pgbaton_test_reporting", "pgbaton_producer"])
def test_they_give_nothing_away(
    conn: psycopg.Connection[Any],
    make_database: Callable[..., str],
    reporting: str,
    grantee: str,
) -> None:
    wanted = given(conn)
    with psycopg.connect(make_database(), autocommit=True) as other:
        to = sql.SQL(grantee) if grantee == "public" else sql.Identifier(grantee)
        for what, privilege in DEFAULTS.items():
            if grantee == "public" and what == "schemas":
                continue  # for everybody's schemas of the database, public among them
            other.execute(
                sql.SQL("alter default privileges grant {} on {} to {}").format(
                    sql.SQL(privilege), sql.SQL(what), to
                )
            )
        install(other.info.dsn + f" password={other.info.password}")
        other.execute(LATER)
        done = other.execute("select pgbaton.run_maintenance()").fetchone()[0]
        assert done["partitions_added"] == 16
        of_days = other.execute(GIVEN).fetchall()
        assert [row for row in of_days if row[1][-8:].isdigit()] == []
        assert given(other) == wanted
        other.execute("drop owned by pgbaton_test_reporting")
