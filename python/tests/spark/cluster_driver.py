"""Run by test_cluster.py, in a process of its own: the driver of a standalone cluster."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# For this process alone: its PYTHONPATH is also that of what Spark starts on this machine.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pyspark.sql import SparkSession

from pgbaton import Client
from pgbaton.demo import java_for_spark
from pgbaton.spark import claim, enqueue, read_history, register


def said(work: Callable[[], object]) -> str:
    """The one line that a call fails with."""
    try:
        work()
    except ImportError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def hosts(batches: Iterator[Any]) -> Iterator[Any]:
    """Where a worker runs, and whether it finds the SQL of a package that is in a zip."""
    import socket

    import pyarrow

    from pgbaton import _assemble

    for _ in batches:
        is_there = "create schema pgbaton" in _assemble.statements(_assemble.source_root())
        address = os.environ.get("SPARK_LOCAL_IP") or socket.gethostname()
        yield pyarrow.RecordBatch.from_pydict(
            {"host": [f"{address} {os.environ.get('SPARK_EXECUTOR_DIRS')}"], "is_there": [is_there]}
        )


def main(master: str, dsn: str, folder: str) -> dict[str, Any]:
    """What was said without the package, and what came of it with the zip."""
    os.environ["SPARK_LOCAL_HOSTNAME"] = "localhost"
    found: dict[str, Any] = {}
    with java_for_spark(), Client(dsn) as client:
        builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        builder = builder.config("spark.executor.memory", "512m").config("spark.log.level", "WARN")
        spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
        rows = spark.range(0, 2000, 1, 4).selectExpr("id as n", "concat('k', id % 40) as k")

        found["by_jdbc"] = enqueue(rows.limit(5), dsn, "mail", method="jdbc").inserted
        found["register"] = said(lambda: register(spark))
        found["enqueue"] = said(lambda: enqueue(rows, dsn, "mail", method="datasource"))
        found["claim"] = said(lambda: claim(spark, dsn, "mail", 5))
        found["running"] = client.queue_stats("mail")[0].processing

        spark.sparkContext.addPyFile(f"{folder}/pgbaton-spark.zip")
        kept = spark.range(0, 8, 1, 8).mapInArrow(hosts, "host string, is_there boolean").collect()
        found["hosts"] = len({row["host"] for row in kept})
        found["sql_is_there"] = all(row["is_there"] for row in kept)
        for name in ("enqueued", "again"):
            done = enqueue(
                rows, dsn, "orders", key="k", order_by="n", run_id="r", method="datasource"
            )
            found[name] = done.inserted + done.already
        with claim(spark, dsn, "orders", 6) as held:
            found["acked"] = held.ack(held.jobs.select("id")).done
        register(spark)
        history = spark.read.format("pgbaton").options(dsn=dsn, queue="orders").load()
        found["history"] = history.count()
        read_history(spark, dsn, "orders").count()
        stream = spark.readStream.format("pgbaton").options(dsn=dsn, queue="orders").load()
        query = (
            stream.writeStream.format("parquet")
            .options(path=f"{folder}/ended", checkpointLocation=f"{folder}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        found["streamed"] = spark.read.parquet(f"{folder}/ended").count()
        spark.stop()
    return found


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
