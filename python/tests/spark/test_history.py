"""The history of a queue as a DataFrame."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

from pgbaton.errors import UnknownQueue
from pgbaton.spark import enqueue, read_history

Drain = Callable[[str], list[tuple[Any, ...]]]


@pytest.mark.parametrize("partitions", [1, 3])
def test_what_went_in_comes_back(
    spark: SparkSession, dsn: str, drain: Drain, method: str, partitions: int
) -> None:
    df = spark.range(1000).selectExpr("concat('k', id % 9) as k", "cast(id as int) as n")
    enqueue(df, dsn, "orders", key="k", order_by="n")
    enqueue(df.limit(5), dsn, "mail")
    drain("orders")
    drain("mail")
    history = read_history(spark, dsn, "orders", partitions=partitions)
    assert history.rdd.getNumPartitions() == partitions
    rows = history.collect()
    assert sorted(json.loads(row["payload"])["n"] for row in rows) == list(range(1000))
    assert {(row["queue"], row["state"], row["attempt"]) for row in rows} == {
        ("orders", "completed", 1)
    }


def test_every_column_says_what_the_database_says(
    spark: SparkSession, dsn: str, conn: psycopg.Connection[Any], queues: None, method: str
) -> None:
    conn.execute(
        "select pgbaton.enqueue_job('orders', '{\"a\": 1}', 7, 'it''s', 'bill', '{x,y}',"
        " '2020-01-01 00:00:00.25Z')"
    )
    [(job, token)] = conn.execute(
        "select id, lease_token from pgbaton.claim_job_batch('w1', '{orders}')"
    ).fetchall()
    conn.execute("select pgbaton.complete_job(%s, '{\"done\": true}', %s)", [job, token])
    [row] = read_history(spark, dsn, "orders").collect()
    names = ", ".join(row.asDict())
    theirs = conn.execute(f"select {names} from pgbaton.finished_jobs").fetchone()  # noqa: S608
    expected = dict(zip(row.asDict(), theirs, strict=True))
    found = row.asDict()
    assert json.loads(found.pop("payload")) == expected.pop("payload") == {"a": 1}
    assert json.loads(found.pop("result")) == expected.pop("result") == {"done": True}
    instants = {name for name in found if name.endswith("_at")}
    assert {"created_at", "run_at", "claimed_at", "finished_at"} <= instants
    for name in instants:
        ours, theirs = found.pop(name), expected.pop(name)
        assert (ours and ours.timestamp()) == (theirs and theirs.timestamp()), name
    assert found == expected


def test_it_has_the_same_schema_both_ways_and_empty(
    spark: SparkSession, dsn: str, queues: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pgbaton.spark import _jdbc

    with_jar = read_history(spark, dsn, "mail")
    monkeypatch.setattr(_jdbc, "load_driver", lambda session: "no jar")
    without = read_history(spark, dsn, "mail")
    assert with_jar.dtypes == without.dtypes
    assert with_jar.count() == without.count() == 0


def test_bad_calls(spark: SparkSession, dsn: str, queues: None) -> None:
    with pytest.raises(UnknownQueue):
        read_history(spark, dsn, "nope")
    with pytest.raises(ValueError, match="partitions is 0"):
        read_history(spark, dsn, "mail", partitions=0)
