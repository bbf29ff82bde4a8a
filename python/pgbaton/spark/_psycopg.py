"""Through psycopg in Spark's Python workers, where there is no JDBC driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import psycopg
from psycopg import sql
from pyspark.sql import DataFrame, Row, SparkSession

from pgbaton.spark._dsn import Target
from pgbaton.spark._errors import raise_database_error
from pgbaton.spark._history import SCHEMA, history_query

STATEMENT_ROWS = 2000
TYPES = {"queue": "text", "payload": "jsonb", "priority": "int", "singleton_key": "text"}
Refusal = tuple[str | None, str, str | None]


def write(rows: DataFrame, target: Target) -> None:
    insert = partial(_insert_partition, target, rows.columns)
    for refusal in rows.rdd.mapPartitions(insert).collect():
        raise_database_error(*refusal)


def _insert_partition(target: Target, columns: list[str], rows: Iterator[Row]) -> list[Refusal]:
    """One transaction, as with JDBC. A refusal is a result: an exception would carry the rows."""
    statement = _insert_statement(columns)
    try:
        with target.connect() as connection:
            while chunk := list(islice(rows, STATEMENT_ROWS)):
                connection.execute(statement, [list(values) for values in zip(*chunk, strict=True)])
    except psycopg.DataError as error:
        # A NUL is refused before it is sent, so without an SQLSTATE.
        return [_refusal(error, error.sqlstate or "22021")]
    except psycopg.Error as error:
        return [_refusal(error, error.sqlstate)]
    return []


def _refusal(error: psycopg.Error, sqlstate: str | None) -> Refusal:
    return sqlstate, error.diag.message_primary or str(error), error.diag.message_hint


def _insert_statement(columns: Iterable[str]) -> sql.Composed:
    # The view and not enqueue_batch: each row has its own priority. COPY cannot write into a view.
    return sql.SQL("insert into pgbaton.enqueue_inbox ({}) select * from unnest({})").format(
        sql.SQL(", ").join(map(sql.Identifier, columns)),
        sql.SQL(", ").join(sql.SQL("%s::" + TYPES[column] + "[]") for column in columns),
    )


def read(
    spark: SparkSession, target: Target, queue: str, bounds: tuple[int, int], partitions: int
) -> DataFrame:
    ranges = _ranges(bounds, partitions)
    rows = spark.sparkContext.parallelize(ranges, len(ranges))
    return spark.createDataFrame(rows.flatMap(partial(_read_range, target, queue)), SCHEMA)


def _ranges(bounds: tuple[int, int], partitions: int) -> list[tuple[int, int]]:
    """The ids from the first to the last bound, cut into ranges without their ends."""
    low, high = bounds
    step = max(1, -(-(high + 1 - low) // partitions))
    return [(start, start + step) for start in range(low, high + 1, step)]


def _read_range(target: Target, queue: str, ids: tuple[int, int]) -> Iterator[tuple[Any, ...]]:
    query = history_query(queue) + sql.SQL(" and id >= {} and id < {}").format(*ids)
    with target.connect() as connection, connection.cursor("pgbaton_history") as cursor:
        cursor.itersize = STATEMENT_ROWS
        yield from cursor.execute(query)
