"""Bad rows that are put aside into a table of the user's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import sql

from pgbaton.spark._errors import Refusal

COLUMNS = {
    **{"queue": "text", "run_id": "text", "reason": "text", "sqlstate": "text"},
    **{"partition": "integer", "row": "bigint", "columns": "jsonb"},
}
# They come to the driver, and one task may not fill it.
MOST_CHARACTERS = 16 * 2**20


def check_table(connection: psycopg.Connection[Any], name: str) -> None:
    """Raises what the database says when the table or a column is not there, or not readable."""
    connection.execute(sql.SQL("select {} from {} limit 0").format(_columns(), _table(name)))


def count_of(connection: psycopg.Connection[Any], name: str, run_id: str) -> int:
    """How many rows of a run the table has."""
    query = sql.SQL("select count(*) from {} where run_id = {}").format(_table(name), run_id)
    [(count,)] = connection.execute(query).fetchall()
    return int(count)


def too_many() -> Refusal:
    return Refusal(
        "54000",
        f"the bad rows of a task are longer than {MOST_CHARACTERS:,} characters",
        "Put so many aside into a queue, with bad_rows_queue.",
    )


def insert(
    connection: psycopg.Connection[Any], name: str, run_id: str, rows: Sequence[str]
) -> None:
    """Inserts them, each the JSON of one row, unless the table has rows of the run."""
    types = [sql.SQL("{} {}").format(sql.Identifier(c), sql.SQL(t)) for c, t in COLUMNS.items()]
    statement = sql.SQL(
        "insert into {table} ({columns})"
        " select {columns} from unnest(%s::jsonb[]) as j (bad),"
        " jsonb_to_record(j.bad || jsonb_build_object('run_id', {run_id}::text)) as r ({types})"
        " where not exists (select from {table} as t where t.run_id = {run_id})"
    ).format(table=_table(name), columns=_columns(), types=sql.SQL(", ").join(types), run_id=run_id)
    connection.execute(statement, [list(rows)])


def _table(name: str) -> sql.Identifier:
    return sql.Identifier(*name.split("."))


def _columns() -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
