"""The history of a queue becomes a DataFrame."""

from __future__ import annotations

import psycopg
from pyspark.sql import DataFrame, SparkSession

from pgbaton.spark import _jdbc, _psycopg
from pgbaton.spark._dsn import Target
from pgbaton.spark._method import MOST_PARTITIONS, choose_method


def read_history(
    spark: SparkSession, dsn: str, queue: str, *, partitions: int | None = None
) -> DataFrame:
    """The jobs of a queue that have ended, as in the view finished_jobs; payload is JSON text.

    Every action on the DataFrame reads anew, in ranges of ids that were measured by this call.

    Args:
        spark (SparkSession): where to.
        dsn (str): connection string or URL of a role that is in pgbaton_monitor.
        queue (str): which queue.
        partitions (int): into how many ranges; default as many as Spark has cores, at most 16.

    Raises:
        ValueError: no partitions.
        UnknownQueue: there is no such queue.
    """
    if partitions is None:
        partitions = min(spark.sparkContext.defaultParallelism, MOST_PARTITIONS)
    if partitions < 1:
        raise ValueError(f"partitions is {partitions}: pass at least 1")
    target = Target.resolve(dsn)
    read = _jdbc.read if choose_method(spark, target, "reading") == "jdbc" else _psycopg.read
    with target.connect() as connection:
        bounds = _id_bounds(connection, queue)
    return read(spark, target, queue, bounds, partitions)


def _id_bounds(connection: psycopg.Connection, queue: str) -> tuple[int, int]:
    [(low, high)] = connection.execute(
        "select min(id), max(id) from pgbaton.finished_jobs where queue = %s", [queue]
    ).fetchall()
    if low is None:
        connection.execute("select pgbaton.queue_stats(%s)", [queue])  # raises if it is unknown
        return 0, 0
    return low, high
