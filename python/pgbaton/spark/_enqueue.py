"""A DataFrame becomes jobs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pgbaton.client import Client
from pgbaton.errors import KeyRequired
from pgbaton.spark import _jdbc, _psycopg
from pgbaton.spark._dsn import Target
from pgbaton.spark._method import MOST_PARTITIONS, Method, choose_method
from pgbaton.spark._rows import ColumnOrName, inbox_rows

# Above that a queue refuses by default, whoever makes them.
MOST_LANES = 10_000


@dataclass(frozen=True)
class Enqueued:
    """What `enqueue` did: each partition was one transaction."""

    jobs: int
    partitions: int
    seconds: float
    method: Method


def enqueue(
    df: DataFrame,
    dsn: str,
    queue: str,
    *,
    key: ColumnOrName | None = None,
    order_by: ColumnOrName | Sequence[ColumnOrName] | None = None,
    payload: ColumnOrName | Sequence[str] | None = None,
    priority: int | ColumnOrName | None = None,
    partitions: int | None = None,
) -> Enqueued:
    """Adds one job for each row.

    Each partition is one transaction: when one fails, the others stay. The DataFrame is computed
    once and kept (memory, then disk) until it is written.

    Args:
        df (DataFrame): the rows.
        dsn (str): connection string or URL, as psycopg takes it.
        queue (str): where the jobs go.
        key (Column | str): the singleton_key; required in a FIFO queue. Its text is the key.
        order_by (Column | str | list): order of the jobs of one key, nulls first. Rows that are
            equal in it, or all if it is left out, keep the order of the DataFrame.
        payload (Column | str | list[str]): one column: JSON text, or a struct, map, array or
            variant; a list: these columns as one object; left out: all columns as one object.
            Timestamps become ISO 8601 in UTC, nulls stay, NaN becomes the text "NaN".
        priority (int | Column | str): one for all or a column; default 100.
        partitions (int): how many transactions at most, side by side as far as Spark has cores.

    Returns:
        Enqueued: jobs is 0 for an empty DataFrame.

    Raises:
        ValueError: a column that is not there, no partitions, or order_by without a key.
        UnknownQueue: there is no such queue.
        KeyRequired: a FIFO queue and no key, or a row whose key is null or empty; nothing is
            enqueued.
        psycopg.Error: the database refused a row; what it said, without the row.
    """
    started = time.monotonic()
    spark = df.sparkSession
    if partitions is None:
        partitions = min(spark.sparkContext.defaultParallelism, MOST_PARTITIONS)
    if partitions < 1:
        raise ValueError(f"partitions is {partitions}: pass at least 1")
    rows = inbox_rows(df, queue, key, order_by, payload, priority, partitions)

    target = Target.resolve(dsn)
    with target.connect() as connection:
        requires_key = _requires_key(connection, queue)
    if requires_key and key is None:
        raise KeyRequired(f'queue "{queue}" is a FIFO queue: pass key, the column to keep in order')

    method = choose_method(spark, target, "enqueuing")
    rows = rows.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        jobs, filled_partitions = _check_rows(rows, queue, requires_key)
        if jobs:
            _make_lanes(rows, target, queue)
            write = _jdbc.write if method == "jdbc" else _psycopg.write
            write(rows, target)
    finally:
        rows.unpersist()
    return Enqueued(jobs, filled_partitions, time.monotonic() - started, method)


def _requires_key(connection: psycopg.Connection, queue: str) -> bool:
    [(requires_key,)] = connection.execute("select pgbaton.requires_key(%s)", [queue]).fetchall()
    return bool(requires_key)


def _check_rows(rows: DataFrame, queue: str, requires_key: bool) -> tuple[int, int]:
    """The number of rows and of partitions that hold any; raises if a row has no key or payload."""
    has_key = F.col("singleton_key") != "" if "singleton_key" in rows.columns else F.lit(True)
    marked = rows.withColumn("partition", F.spark_partition_id())
    found = marked.agg(
        F.count(F.lit(1)).alias("jobs"),
        F.count_distinct("partition").alias("partitions"),
        F.count_if(~F.coalesce(has_key, F.lit(False))).alias("keyless"),
        F.count_if(F.col("payload").isNull()).alias("without_payload"),
    ).first()
    if found is None:
        raise RuntimeError("Spark counted nothing")
    if requires_key and found["keyless"]:
        raise KeyRequired(
            f'{found["keyless"]} of {found["jobs"]} rows have no key, and "{queue}" is a FIFO '
            "queue: filter them out, or enqueue them into another queue"
        )
    if found["without_payload"]:
        raise ValueError(f"{found['without_payload']} of {found['jobs']} rows have a null payload")
    return found["jobs"], found["partitions"]


def _make_lanes(rows: DataFrame, target: Target, queue: str) -> None:
    """Commits the lanes that the rows need.

    A partition that made a new one would hold up all others until it has ended, and two partitions
    that made several could wait for each other in a circle.
    """
    priorities: list[int | None] = [None]
    if "priority" in rows.columns:
        found = rows.select("priority").distinct().limit(MOST_LANES).collect()
        priorities = sorted(row["priority"] for row in found if row["priority"] is not None)
    with Client(target.conninfo()) as client:
        for priority in priorities:
            client.enqueue_batch(queue, [], priority=priority)
