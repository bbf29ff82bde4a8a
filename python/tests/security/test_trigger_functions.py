"""Nobody may attach a trigger function of pgbaton, also where functions are granted by default."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql

from pgbaton.install import install


@pytest.mark.parametrize("grantee", ["public", "pgbaton_producer"])
def test_trigger_functions_are_granted_to_nobody(empty_dsn: str, grantee: str) -> None:
    with psycopg.connect(empty_dsn, autocommit=True) as conn:
        conn.execute(
            sql.SQL("alter default privileges grant execute on functions to {}").format(
                sql.SQL("public") if grantee == "public" else sql.Identifier(grantee)
            )
        )
        install(empty_dsn)
        granted = conn.execute(
            "select p.oid::regprocedure, g.grantee from pg_proc as p"
            " cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as g"
            " where p.pronamespace = 'pgbaton'::regnamespace and p.prorettype = 'trigger'::regtype"
            " and g.grantee <> p.proowner"
        ).fetchall()
        assert granted == []
