"""The view enqueue_inbox through Spark SQL and DataFrames of others, without pgbaton's Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pgbaton.spark import _jdbc, jdbc_options

Conn = psycopg.Connection[Any]
PARTS = 4


@pytest.fixture
def inbox(spark: SparkSession, dsn: str, conn: Conn, queues: None) -> str:
    """The view as a table of a JDBC catalog."""
    assert _jdbc.load_driver(spark) is None
    catalog = f"spark.sql.catalog.{conn.info.dbname}"
    kind = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"
    for name, value in {"": kind, **jdbc_options(dsn)}.items():
        spark.conf.set(f"{catalog}.{name}".rstrip("."), value)
    return f"{conn.info.dbname}.pgbaton.enqueue_inbox"


def test_spark_sql_and_append_leave_out_what_has_a_default(
    spark: SparkSession, conn: Conn, inbox: str
) -> None:
    spark.sql(
        "insert into identifier(:inbox) (queue, payload)"
        " select 'mail', to_json(named_struct('n', id)) from range(0, 3, 1, 2)",
        {"inbox": inbox},
    )
    rows = spark.range(3, 6, 1, 2).selectExpr("'mail' as queue", "to_json(struct(id as n)) payload")
    rows.writeTo(inbox).append()
    all_columns = rows.selectExpr(
        "queue", "payload", "if(payload like '%4%', 150, null) as priority",
        "cast(null as string) as job_type", "cast(null as array<string>) as tags",
    )  # fmt: skip
    all_columns.writeTo(inbox).append()
    found = conn.execute(
        "select priority, job_type, tags, array_agg(payload -> 'n' order by payload)"
        " from pgbaton.live_jobs group by 1, 2, 3 order by 1"
    ).fetchall()
    assert found == [(100, "", [], [0, 1, 2, 3, 3, 4, 5, 5]), (150, "", [], [4])]


def by_stripe(df: DataFrame) -> DataFrame:
    """The rows of docs/spark.md: partitioned by stripe, and sorted by it."""
    stripe = F.expr("int(conv(left(sha2(singleton_key, 256), 2), 16, 10))")
    return (
        df.withColumn("stripe", stripe)
        .repartitionById(PARTS, F.expr(f"shiftright(stripe * {PARTS}, 8)"))
        .sortWithinPartitions("stripe", "singleton_key", "n")
    )


@pytest.mark.parametrize("order", ["by key", "by stripe"])
def test_a_fifo_queue_whatever_the_partitions(
    spark: SparkSession,
    dsn: str,
    conn: Conn,
    inbox: str,
    drain: Callable[[str], list[tuple[Any, ...]]],
    order: str,
) -> None:
    """Many small statements in each transaction, all keys of which meet those of the others."""
    df = spark.range(0, 2000, 1, 2).selectExpr(
        "'orders' as queue", "concat('k', id % 97) as singleton_key", "id as n",
        "to_json(struct(id as n)) as payload",
    )  # fmt: skip
    if order == "by key":
        df = df.repartition(PARTS, "singleton_key").sortWithinPartitions("n")
    else:
        df = by_stripe(df)
    rows = df.select("queue", "singleton_key", "payload").withColumns(
        {"run_id": F.lit("run"), "part": F.spark_partition_id(), "parts": F.lit(PARTS)}
    )
    conn.execute("select pgbaton.spark_begin('run', %s)", [PARTS])
    for _ in range(2):
        writer = rows.write.format("jdbc").mode("append").options(**jdbc_options(dsn))
        writer.option("batchsize", "50").option("dbtable", "pgbaton.enqueue_inbox").save()
    seen: dict[str, list[int]] = {}
    for key, payload, _ in drain("orders"):
        seen.setdefault(key, []).append(payload["n"])
    assert sum(map(len, seen.values())) == 2000
    assert all(numbers == sorted(numbers) for numbers in seen.values())
    assert len(seen) == 97
