"""Columns of what is read, as Spark and as SQL have them."""

from __future__ import annotations

from psycopg import sql
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

_LONG, _INT, _TEXT, _INSTANT = LongType(), IntegerType(), StringType(), TimestampType()
_TEXTS = ArrayType(StringType())

# JSON and the state are text: what both JDBC and Arrow know.
_ID: dict[str, DataType] = {
    **{"id": _LONG, "queue": _TEXT, "job_type": _TEXT, "tags": _TEXTS, "priority": _INT},
    "singleton_key": _TEXT,
}
FINISHED: dict[str, DataType] = {
    **_ID,
    **{"state": _TEXT, "resolution": _TEXT, "attempt": _INT, "payload": _TEXT},
    **{"created_at": _INSTANT, "run_at": _INSTANT, "claimed_at": _INSTANT},
    **{"started_at": _INSTANT, "finished_at": _INSTANT, "worker_id": _TEXT},
    **{"retry_count": _INT, "last_error": _TEXT, "result": _TEXT},
}
LIVE: dict[str, DataType] = {
    **_ID,
    **{"state": _TEXT, "attempt": _INT, "max_attempts": _INT, "payload": _TEXT},
    **{"created_at": _INSTANT, "run_at": _INSTANT, "claimed_at": _INSTANT},
    **{"started_at": _INSTANT, "lease_until": _INSTANT, "worker_id": _TEXT},
    **{"retry_count": _INT, "last_error": _TEXT, "progress": _INT, "current_stage": _TEXT},
}
ALL: dict[str, DataType] = {name: FINISHED[name] for name in FINISHED if name != "result"}
CLAIMED: dict[str, DataType] = {
    **_ID,
    **{"attempt": _INT, "max_attempts": _INT, "payload": _TEXT, "created_at": _INSTANT},
    **{"run_at": _INSTANT, "claimed_at": _INSTANT, "lease_until": _INSTANT, "lease_token": _LONG},
}
OUTCOME: dict[str, DataType] = {
    **{"id": _LONG, "queue": _TEXT, "part": _INT, "singleton_key": _TEXT, "payload": _TEXT},
    **{"state": _TEXT, "resolution": _TEXT, "attempt": _INT, "claimed_at": _INSTANT},
    **{"ended_at": _INSTANT, "last_error": _TEXT, "result": _TEXT},
}


def schema_of(columns: dict[str, DataType]) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


def select_list(schema: StructType) -> sql.Composed:
    """The columns of a schema, enums and JSON as text."""
    return sql.SQL(", ").join(map(_selected, schema.fields))


def csv_list(schema: StructType) -> sql.Composed:
    """The same for CSV, where an array is JSON."""
    return sql.SQL(", ").join(map(_as_csv, schema.fields))


def check_columns(schema: StructType, known: dict[str, DataType]) -> None:
    """Raises ValueError for a column that is not there, or that has another type."""
    for field in schema.fields:
        if field.name not in known:
            raise ValueError(f'there is no column "{field.name}", but {", ".join(known)}')
        if field.dataType != known[field.name]:
            wanted = known[field.name].simpleString()
            raise ValueError(
                f'column "{field.name}" is {wanted}, not {field.dataType.simpleString()}'
            )


def _selected(field: StructField) -> sql.Composable:
    name = sql.Identifier(field.name)
    return sql.SQL("{0}::text as {0}").format(name) if field.dataType == _TEXT else name


def _as_csv(field: StructField) -> sql.Composable:
    name = sql.Identifier(field.name)
    return sql.SQL("array_to_json({})").format(name) if field.dataType == _TEXTS else name
