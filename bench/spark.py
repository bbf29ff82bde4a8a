"""Measures what Spark writes and reads, each beside what plain JDBC does, and prints a table.

Every figure is the best of several repetitions on a server of its own that is durable; the ways
take turns, so that what else the machine does falls on all of them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo
from pyspark.sql import DataFrame, SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from pgbaton.embedded import Server, temporary_server
from pgbaton.install import install
from pgbaton.spark import _jdbc, enqueue, jdbc_options, read_history, register

SETTINGS = {
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "30min",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
}
PARTITIONS = 8
KEYS = 10_000
GOAL_PER_SECOND = 80_000


@dataclass(frozen=True)
class Way:
    """One way to write or read, and the least it may do of what its baseline does."""

    name: str
    run: Callable[[DataFrame, str], None]
    goal: float | None = None
    is_reading: bool = False


def to_plain(df: DataFrame, dsn: str) -> None:
    write_jdbc(df, dsn, "public.plain")


def to_inbox(df: DataFrame, dsn: str) -> None:
    write_jdbc(df, dsn, "pgbaton.enqueue_inbox")


def write_jdbc(df: DataFrame, dsn: str, table: str) -> None:
    writer = df.drop("key", "n").write.format("jdbc").options(**jdbc_options(dsn))
    writer.option("dbtable", table).mode("append").save()


def to_data_source(df: DataFrame, dsn: str) -> None:
    register(df.sparkSession)
    writer = df.select("payload").write.format("pgbaton").mode("append")
    writer.options(dsn=dsn, queue="mail").save()


def by_enqueue(df: DataFrame, dsn: str, **options: object) -> None:
    enqueue(df, dsn, payload="payload", partitions=PARTITIONS, **options)


def in_order(method: str) -> Callable[[DataFrame, str], None]:
    return lambda df, dsn: by_enqueue(
        df, dsn, queue="orders", key="key", order_by="n", method=method
    )


def without_order(method: str) -> Callable[[DataFrame, str], None]:
    return lambda df, dsn: by_enqueue(df, dsn, queue="mail", method=method)


def read_flat(df: DataFrame, dsn: str) -> None:
    reader = df.sparkSession.read.format("jdbc").options(**jdbc_options(dsn))
    bounds = {"partitionColumn": "id", "lowerBound": "1", "upperBound": str(df.count())}
    flat = reader.option("dbtable", "public.flat").options(**bounds, numPartitions=PARTITIONS)
    flat.load().write.format("noop").mode("overwrite").save()


def read_finished(df: DataFrame, dsn: str) -> None:
    history = read_history(df.sparkSession, dsn, "mail", partitions=PARTITIONS)
    history.write.format("noop").mode("overwrite").save()


WRITING = [
    Way("plain `df.write.jdbc`, no index", to_plain),
    Way("view `enqueue_inbox` over JDBC", to_inbox, 0.7),
    Way("data source", to_data_source, 0.6),
    Way('`enqueue`, "jdbc"', without_order("jdbc")),
    Way('`enqueue`, "datasource"', without_order("datasource")),
    Way('`enqueue` in order per key, "jdbc"', in_order("jdbc"), 0.4),
    Way('`enqueue` in order per key, "datasource"', in_order("datasource"), 0.4),
]
READING = [
    Way("`spark.read.jdbc` of a flat table", read_flat, is_reading=True),
    Way("`read_history`", read_finished, 0.8, is_reading=True),
]


@contextmanager
def spark_session() -> Iterator[SparkSession]:
    from pgbaton.demo._flights import spark_session
    from pgbaton.demo._java import java_for_spark

    with java_for_spark(), spark_session() as spark:
        if obstacle := _jdbc.load_driver(spark):
            raise SystemExit(obstacle)
        yield spark


def fresh_database(server: Server) -> str:
    dsn = server.dsn(tcp=True)
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute("drop database if exists bench with (force)")
        admin.execute("create database bench")
    dsn = make_conninfo(dsn, dbname="bench")
    install(dsn)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("select pgbaton.create_queue('mail'), pgbaton.create_fifo_queue('orders')")
        conn.execute("select pgbaton.run_maintenance()")
        # Queues in use: the first job of a lane makes it, and those beside it wait for the commit.
        conn.execute("select pgbaton.enqueue_job('mail')")
        conn.execute("select pgbaton.enqueue_job('orders', singleton_key => 'k0')")
        conn.execute(
            "create table public.plain (queue text, payload jsonb, priority integer,"
            " singleton_key text, job_type text, tags text[], run_at timestamptz)"
        )
    return dsn


def fill_history(df: DataFrame, dsn: str) -> None:
    """Works all jobs off, and puts the same rows into a flat table."""
    to_data_source(df, dsn)
    with psycopg.connect(dsn, autocommit=True) as conn:
        while claimed := conn.execute(
            "select lease_token from"
            " pgbaton.claim_job_batch('bench', '{mail}', batch_size => 10000) limit 1"
        ).fetchone():
            conn.execute("select pgbaton.complete_claim(%s)", claimed)
        conn.execute("create table public.flat as select * from pgbaton.finished_jobs")
        conn.execute("alter table public.flat add primary key (id)")
        conn.execute("vacuum analyze")


def measure(rows: int, repetitions: int) -> dict[str, float]:
    """Seconds of each way, the best of its repetitions."""
    best: dict[str, float] = {}
    with spark_session() as spark, temporary_server(settings=SETTINGS) as server:
        df = spark.range(0, rows, 1, PARTITIONS).selectExpr(
            "'mail' as queue",
            "to_json(named_struct('n', id, 'text', repeat('x', 80))) as payload",
            f"concat('k', id % {KEYS}) as key",
            "id as n",
        )
        dsn = fresh_database(server)
        for way in WRITING:
            way.run(df.limit(1000), dsn)  # Java and Python get warm
        for way in WRITING * repetitions:
            dsn = fresh_database(server)
            note(best, way, df, dsn)
        fill_history(df, dsn := fresh_database(server))
        for way in READING * repetitions:
            note(best, way, df, dsn)
    return best


def note(best: dict[str, float], way: Way, df: DataFrame, dsn: str) -> None:
    started = time.monotonic()
    way.run(df, dsn)
    seconds = time.monotonic() - started
    best[way.name] = min(seconds, best.get(way.name, seconds))
    print(f"{way.name}: {seconds:.1f} s", file=sys.stderr)


def table(best: dict[str, float], rows: int) -> str:
    lines = ["| way | rows/s | of the baseline | goal |", "|---|---:|---:|---:|"]
    for ways in (WRITING, READING):
        baseline = best[ways[0].name]
        for way in ways:
            goal = "" if way.goal is None else f"≥ {way.goal:.1f}"
            share = "" if way is ways[0] else f"{baseline / best[way.name]:.2f}"
            lines.append(f"| {way.name} | {rows / best[way.name]:,.0f} | {share} | {goal} |")
    fastest = max(rows / best[way.name] for way in WRITING[1:])
    lines.append(f"\nFastest way in: {fastest:,.0f} jobs/s (goal ≥ {GOAL_PER_SECOND:,})")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=3)
    given = parser.parse_args()
    print(table(measure(given.rows, given.repetitions), given.rows))
