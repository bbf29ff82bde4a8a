"""What the tests of several sessions run of the PL/pgSQL functions: `make coverage` sums it up.

Set PGBATON_PROFILE to a folder, and PGBATON_PG_BINDIR to a server that has plpgsql_check: before a
test drops a database, the counts of its profiler are written there. See pgtap/coverage.py.
"""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

FOLDER = os.environ.get("PGBATON_PROFILE")
SETTINGS = {
    "shared_preload_libraries": "plpgsql,plpgsql_check",
    "plpgsql_check.profiler": "on",
    # Each database counts for itself, and some tests have one of their own.
    "plpgsql_check.profiler_max_shared_chunks": "60000",
}
# Without blocks, which run nothing themselves, and the return that each function ends with unsaid.
STATEMENTS = """
select f.name, s.stmtid, f.lines[s.lineno] as line, s.exec_stmts
from (
    select p.oid, p.proname as name, string_to_array(p.prosrc, E'\\n') as lines
    from pg_proc as p inner join pg_language as l on l.oid = p.prolang
    where p.pronamespace = 'pgbaton'::regnamespace and l.lanname = 'plpgsql'
) as f
cross join lateral tap.plpgsql_profiler_function_statements_tb(f.oid) as s
where s.stmtname <> 'statement block' and s.lineno > 0
"""
RESET = """
select tap.plpgsql_profiler_reset(p.oid) from pg_proc as p
where p.pronamespace = 'pgbaton'::regnamespace and p.prolang = (
    select oid from pg_language where lanname = 'plpgsql'
)
"""


def settings() -> dict[str, str]:
    """What the server needs for it; nothing when nobody asks."""
    return SETTINGS if FOLDER else {}


def save(server: str, name: str) -> None:
    """Writes what was counted in the database; does nothing when nobody asks."""
    if not FOLDER:
        return
    with psycopg.connect(make_conninfo(server, dbname=name), autocommit=True) as conn:
        if conn.execute("select from pg_namespace where nspname = 'pgbaton'").fetchone() is None:
            return
        conn.execute("create schema if not exists tap")
        conn.execute("create extension if not exists plpgsql_check schema tap")
        rows = conn.execute(STATEMENTS).fetchall()
        (Path(FOLDER) / f"{uuid.uuid4()}.json").write_text(json.dumps(rows))
        conn.execute(RESET)
