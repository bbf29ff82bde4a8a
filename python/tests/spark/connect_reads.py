"""Run by test_connect.py, in a process of its own: all that works through Spark Connect."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from drivers import steps
from pyspark.sql import DataFrame, SparkSession

from pgbaton.demo import java_for_spark
from pgbaton.errors import UnknownQueue
from pgbaton.spark import (
    claim,
    enqueue,
    jar_path,
    jdbc_options,
    read_blocked,
    read_history,
    register,
    snapshot,
)


def main(dsn: str, empty_dsn: str, folder: str) -> dict[str, Any]:
    """What each way of reading gave; the database has 30 finished jobs and 10 pending ones.

    The other one has only queues, and gets jobs.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_HOSTNAME"] = "localhost"
    with java_for_spark():
        builder = SparkSession.builder.remote("local[2]").config("spark.jars", jar_path())
        spark = builder.config("spark.sql.session.timeZone", "America/New_York").getOrCreate()
        enqueued = enqueued_twice(spark, empty_dsn)
        register(spark)
        with snapshot(dsn) as moment:
            history = read_history(spark, dsn, "mail", partitions=2, snapshot=moment)
            found: dict[str, Any] = {"session": type(spark).__module__, "history": rows(history)}
        options = {**jdbc_options(dsn), "dbtable": "pgbaton.finished_jobs"}
        through_jdbc = spark.read.format("jdbc").options(**options).load()
        found["jdbc_is_the_same"] = through_jdbc.select(*history.columns).dtypes == history.dtypes
        found["jdbc"] = rows(through_jdbc.select(*history.columns))
        found["filtered"] = {kind: filtered(spark, dsn, kind) for kind in ("live", "finished")}
        live = spark.read.format("pgbaton").options(dsn=dsn, jobs="live").load()
        found["pending"] = live.where("state = 'pending'").count()
        found["blocked"] = read_blocked(spark, dsn).count()
        with claim(spark, dsn, "mail", 6, partitions=2) as held:
            done = held.ack(held.jobs.selectExpr("id", "to_json(struct(attempt)) as result"))
            found["acked"] = done.done
        stream = spark.readStream.format("pgbaton").options(dsn=dsn).load()
        query = (
            stream.writeStream.format("parquet")
            .options(path=f"{folder}/ended", checkpointLocation=f"{folder}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        found["streamed"] = spark.read.parquet(f"{folder}/ended").count()
        spark.stop()
    return {**found, **enqueued}


def enqueued_twice(spark: SparkSession, dsn: str) -> dict[str, Any]:
    """What becomes of a run and of its repetition, and what a wrong queue says."""
    counts = []
    for _ in range(2):
        done = enqueue(steps(spark), dsn, "orders", key="k", order_by="step", run_id="night")
        counts.append((done.inserted, done.already))
    refusal = ""
    try:
        enqueue(steps(spark), dsn, "nope")
    except UnknownQueue as error:
        refusal = f"UnknownQueue: {error.diag.message_primary}"
    return {"enqueued": counts, "refusal": refusal}


def filtered(spark: SparkSession, dsn: str, kind: str) -> dict[str, list[int]]:
    """Counts of one DataFrame with disjoint filters: in turn, in unions, joined, and in SQL."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    df = spark.read.format("pgbaton").options(dsn=dsn, queue="mail", jobs=kind, partitions=2).load()
    middle = df.selectExpr("percentile(id, 0.5)").collect()[0][0]
    low, high, never = df.where(f"id < {middle}"), df.where(f"id > {middle}"), df.where("id < 0")
    df.createOrReplaceTempView("jobs_here")
    below, above = (
        spark.sql(text, {"middle": middle})
        for text in (
            "select * from jobs_here where id < :middle",
            "select * from jobs_here where id > :middle",
        )
    )
    return {
        "in turn": [each.count() for each in (df, never, low, df, high, low)],
        "unions": [each.count() for each in (low.union(high), high.union(low), never.union(high))],
        "joins": [low.join(high, "id").count(), low.join(df, "id").count()],
        "in SQL": [below.union(above).union(below).count()],
    }


def rows(df: DataFrame) -> list[list[str]]:
    """Instants as such, whatever the zone of the session."""
    instants = [name for name, kind in df.dtypes if kind == "timestamp"]
    as_numbers = {name: df[name].cast("double") for name in instants}
    return sorted([str(value) for value in row] for row in df.withColumns(as_numbers).collect())


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
