"""The history of a queue and its blocked keys become DataFrames."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import astuple
from functools import partial
from typing import TYPE_CHECKING

from psycopg import sql
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from pgbaton.client import Client
from pgbaton.spark import _jdbc
from pgbaton.spark._ranges import DEFAULT_PARTITIONS, IdRange
from pgbaton.spark._reader import JobReader
from pgbaton.spark._snapshot import Snapshot, snapshot_statement
from pgbaton.spark._views import FINISHED, schema_of, select_list

if TYPE_CHECKING:
    import pyarrow as pa

BLOCKED = StructType(
    [
        StructField("queue", StringType(), nullable=False),
        StructField("singleton_key", StringType(), nullable=False),
        StructField("job_id", LongType(), nullable=False),
        StructField("state", StringType(), nullable=False),
        StructField("blocked_since", TimestampType()),
        StructField("attempts", IntegerType()),
        StructField("last_error", StringType()),
        StructField("waiting_count", LongType()),
        StructField("next_run_at", TimestampType()),
    ]
)


def read_history(
    spark: SparkSession,
    dsn: str,
    queue: str | None = None,
    *,
    partitions: int = DEFAULT_PARTITIONS,
    snapshot: Snapshot | None = None,
) -> DataFrame:
    """The jobs that have ended, as in the view finished_jobs; payload and result are JSON text.

    Every action on the DataFrame reads anew, in ranges of ids that were measured by this call.

    Args:
        spark (SparkSession): where to.
        dsn (str): connection string or URL of a role that is in pgbaton_monitor.
        queue (str): which queue; default all.
        partitions (int): into how many ranges, each with a connection of its own while it is read.
        snapshot (Snapshot): the moment to read at, of `snapshot(dsn)`; default when it is read.

    Raises:
        ValueError: no partitions.
        UnknownQueue: there is no such queue.
    """
    options = {"dsn": dsn, "partitions": str(partitions)}
    if queue is not None:
        options["queue"] = queue
    if snapshot is not None:
        options["snapshot"] = snapshot.id
    reader = JobReader(options, schema_of(FINISHED))
    ranges = reader.partitions()
    if _has_jdbc(spark, reader):
        return _through_jdbc(spark, reader, ranges)
    return spark.range(0, len(ranges), 1, len(ranges)).mapInArrow(
        partial(_read_ranges, reader, ranges), schema_of(FINISHED)
    )


def read_blocked(spark: SparkSession, dsn: str, queue: str | None = None) -> DataFrame:
    """The keys that a failed job holds, or one that waits to be retried, as blocked_keys has them.

    Read once, by this call.

    Args:
        spark (SparkSession): where to.
        dsn (str): connection string or URL of a role that is in pgbaton_operator.
        queue (str): which queue; default all.

    Raises:
        UnknownQueue: there is no such queue.
    """
    with Client(dsn) as client:
        rows = [astuple(key) for key in client.blocked_keys(queue)]
    return spark.createDataFrame(rows, BLOCKED)


def _has_jdbc(spark: SparkSession, reader: JobReader) -> bool:
    """Whether Spark can read through JDBC; says it in one line if not."""
    obstacle = reader.target.jdbc_obstacle() or _jdbc.load_driver(spark)
    if obstacle is not None:
        print(f"pgbaton: reading through psycopg: {obstacle}", file=sys.stderr)
    return obstacle is None


def _through_jdbc(spark: SparkSession, reader: JobReader, ranges: list[IdRange]) -> DataFrame:
    properties = _jdbc.options(reader.target)
    # The planner thinks that the view is large, and would compile what is read for each range.
    first = "set jit = off"
    if reader.snapshot is not None:
        first = f"{first}; {snapshot_statement(reader.snapshot)}"
    properties["sessionInitStatement"] = first
    columns = sql.SQL("{}, range_id").format(select_list(schema_of(FINISHED)))
    with reader.target.connect() as connection:
        query = reader.query(columns).as_string(connection)
    return spark.read.jdbc(
        properties.pop("url"),
        f"({query}) as h",
        predicates=[f"range_id between {ids.first} and {ids.last}" for ids in ranges],
        properties=properties,
    ).drop("range_id")


def _read_ranges(
    reader: JobReader, ranges: list[IdRange], numbers: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for number in (n for batch in numbers for n in batch.column(0).to_pylist()):
        yield from reader.read(ranges[number])
