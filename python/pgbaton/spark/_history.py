"""The history of a queue and its blocked keys become DataFrames."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from datetime import datetime
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
from pgbaton.spark._errors import plain_errors
from pgbaton.spark._ranges import DEFAULT_PARTITIONS, IdRange
from pgbaton.spark._reader import JobReader
from pgbaton.spark._snapshot import Snapshot, snapshot_statement
from pgbaton.spark._views import select_list
from pgbaton.spark._workers import require_workers

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


@plain_errors()
def read_history(
    spark: SparkSession,
    dsn: str,
    queue: str | None = None,
    *,
    partitions: int = DEFAULT_PARTITIONS,
    snapshot: Snapshot | None = None,
    columns: Sequence[str] | None = None,
    state: str | None = None,
    job_type: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    dsn_read: str | None = None,
) -> DataFrame:
    """The jobs that have ended, as in the view finished_jobs; payload and result are JSON text.

    Every action on the DataFrame reads anew, in ranges of ids with about equally many jobs, which
    this call has measured. Pass here what the database shall leave out: Spark applies the filters
    of the DataFrame itself.

    Args:
        spark (SparkSession): where to.
        dsn (str): connection string or URL of a role that is in pgbaton_monitor.
        queue (str): which queue; default all.
        partitions (int): into how many ranges; each takes a connection while it is read.
        snapshot (Snapshot): the moment to read at, of `snapshot(dsn)`; default when it is read.
        columns (list[str]): only these, in this order; default all. Columns that are left out are
            not fetched.
        state (str): only jobs that ended in this state.
        job_type (str): only jobs of this type.
        since (datetime): only jobs that ended then or later; in UTC if it has no time zone.
        until (datetime): only jobs that ended before that.
        dsn_read (str): where to read instead, for example a standby; it may be behind.

    Raises:
        ValueError: no partitions, or a column that is not there.
        UnknownQueue: there is no such queue.
    """
    options = {"dsn": dsn, "partitions": str(partitions)}
    if queue is not None:
        options["queue"] = queue
    if snapshot is not None:
        options["snapshot"] = snapshot.id
    if state is not None:
        options["state"] = json.dumps([state])
    if job_type is not None:
        options["job_type"] = job_type
    if dsn_read is not None:
        options["dsn_read"] = dsn_read
    if columns is not None:
        options["columns"] = json.dumps(list(columns))
    options |= {n: at.isoformat() for n, at in (("since", since), ("until", until)) if at}
    schema = JobReader.default_schema(options)
    reader = JobReader(options, schema)
    ranges = reader.partitions()
    if _has_jdbc(spark, reader):
        return _through_jdbc(spark, reader, schema, ranges)
    require_workers(spark)
    return spark.range(0, len(ranges), 1, len(ranges)).mapInArrow(
        partial(_read_ranges, reader, ranges), schema
    )


@plain_errors()
def read_blocked(
    spark: SparkSession, dsn: str, queue: str | None = None, *, dsn_read: str | None = None
) -> DataFrame:
    """The keys that a failed job holds, or one that waits to be retried, as blocked_keys has them.

    Read once, by this call.

    Args:
        spark (SparkSession): where to.
        dsn (str): connection string or URL of a role that is in pgbaton_operator.
        queue (str): which queue; default all.
        dsn_read (str): where to read instead, for example a standby; it may be behind.

    Raises:
        UnknownQueue: there is no such queue.
    """
    with Client(dsn_read or dsn) as client:
        rows = [astuple(key) for key in client.blocked_keys(queue)]
    return spark.createDataFrame(rows, BLOCKED)


def _has_jdbc(spark: SparkSession, reader: JobReader) -> bool:
    """Whether Spark can read through JDBC; says it in one line if not."""
    obstacle = reader.target.jdbc_obstacle() or _jdbc.load_driver(spark)
    if obstacle is not None:
        print(f"pgbaton: reading through psycopg: {obstacle}", file=sys.stderr)
    return obstacle is None


def _through_jdbc(
    spark: SparkSession, reader: JobReader, schema: StructType, ranges: list[IdRange]
) -> DataFrame:
    properties = _jdbc.options(reader.target)
    # Pushed, texts would be compared by the collation of the database, and instants written in a
    # time zone that is not always the connection's.
    properties["pushDownPredicate"] = "false"
    # The planner thinks that the view is large, and would compile what is read for each range.
    first = "set jit = off"
    if reader.snapshot is not None:
        first = f"{first}; {snapshot_statement(reader.snapshot)}"
    properties["sessionInitStatement"] = first
    columns = sql.SQL("{}, range_id").format(select_list(schema))
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
