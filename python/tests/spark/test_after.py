"""Rows that wait for jobs."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pgbaton import spark as queue_of_spark
from pgbaton.errors import UnknownJob
from pgbaton.spark import Enqueued, foreach_batch, register

Conn = psycopg.Connection[Any]


def enqueue(df: DataFrame, dsn: str, queue: str, **options: Any) -> Enqueued:
    """In few partitions, since each takes a connection, and a worker of Spark."""
    return queue_of_spark.enqueue(df, dsn, queue, **{"partitions": 2, **options})


@pytest.fixture
def parents(conn: Conn, queues: None) -> list[int]:
    conn.execute("select pgbaton.create_queue('load', max_attempts => 1)")
    return [
        row[0]
        for row in conn.execute(
            "select id from pgbaton.enqueue_batch('load', '{0,1,2,3,4}') as e (id)"
        )
    ]


def rows(spark: SparkSession, parents: list[int]) -> DataFrame:
    """300 rows that wait for one of four jobs, each tenth for two, each third for none."""
    ids = F.array(*map(F.lit, parents[:4]))
    one = F.array(ids[F.col("n") % 4])
    two = F.array(ids[F.col("n") % 4], ids[(F.col("n") + 1) % 4])
    none = F.when(F.col("n") % 2 == 0, F.array().cast("array<bigint>"))
    after = F.when(F.col("n") % 3 == 0, none).when(F.col("n") % 10 == 0, two).otherwise(one)
    df = spark.range(0, 300, 1, 2).withColumnRenamed("id", "n")
    return df.select("n", (F.col("n") % 7).alias("k"), after.alias("parents"))


def expected(parents: list[int]) -> dict[int, list[int]]:
    found = {}
    for n in range(300):
        ordinals = [] if n % 3 == 0 else [n % 4, (n + 1) % 4] if n % 10 == 0 else [n % 4]
        found[n] = sorted(parents[ordinal] for ordinal in ordinals)
    return found


def waits(conn: Conn, queue: str) -> dict[int, list[int]]:
    return dict(
        conn.execute(
            "select (j.payload -> 'n')::int,"
            " array(select e.parent_id from pgbaton.job_edge as e where e.child_id = j.id"
            " order by e.ordinal)"
            " from pgbaton.live_jobs as j where j.queue = %s",
            [queue],
        ).fetchall()
    )


def claimed(conn: Conn, queue: str) -> list[int]:
    call = (
        "select (payload -> 'n')::int"
        " from pgbaton.claim_job_batch('w', array[%s], batch_size => 1000)"
    )
    found: list[int] = []
    while some := conn.execute(call, [queue]).fetchall():  # one looks at 200 that wait
        found += [n for (n,) in some]
    return sorted(found)


def fail_the_first(conn: Conn) -> None:
    conn.execute(
        "select pgbaton.fail_job(id, 'broken', lease_token)"
        " from pgbaton.claim_job_batch('w', '{load}', batch_size => 1)"
    )


@pytest.mark.parametrize("queue", ["mail", "orders"])
def test_each_row_waits_for_its_own_jobs_once(
    spark: SparkSession, dsn: str, conn: Conn, parents: list[int], method: str, queue: str
) -> None:
    df = rows(spark, parents)
    options = {"key": "k", "order_by": "n"} if queue == "orders" else {}
    for again in (False, True):
        done = enqueue(df, dsn, queue, payload=["n"], after="parents", run_id="r", **options)
        assert (done.inserted, done.already) == ((0, 300) if again else (300, 0))
    assert waits(conn, queue) == expected(parents)
    if queue == "mail":
        assert claimed(conn, queue) == list(range(0, 300, 3))


def test_a_run_that_comes_again_asks_for_no_job_that_is_gone(
    spark: SparkSession, dsn: str, conn: Conn, parents: list[int], method: str
) -> None:
    df = spark.range(3).select(F.array(F.lit(parents[0])).alias("parents"), "id")
    given = {"payload": ["id"], "after": "parents", "run_id": "r", "on_failed": "run"}
    assert enqueue(df, dsn, "mail", **given).inserted == 3
    conn.execute("select pgbaton.cancel_jobs(job_ids => array[%s::bigint])", [parents[0]])
    conn.execute(
        "select pgbaton.complete_claim(max(c.lease_token))"
        " from pgbaton.claim_job_batch('w', '{mail}') as c"
    )
    conn.execute(
        "select pgbaton.delete_jobs(job_ids => array_agg(j.id)) from pgbaton.jobs as j"
        " where j.queue = 'mail'"
    )
    assert conn.execute(
        "select pgbaton.delete_jobs(job_ids => array[%s::bigint])", [parents[0]]
    ).fetchone() == (1,)
    assert enqueue(df, dsn, "mail", **given).already == 3
    with pytest.raises(UnknownJob):
        enqueue(df, dsn, "mail", **{**given, "run_id": "another"})


def test_what_a_row_does_when_a_job_fails(
    spark: SparkSession, dsn: str, conn: Conn, parents: list[int], method: str
) -> None:
    df = rows(spark, parents)
    word = F.when(F.col("n") % 4 == 0, "run").when(F.col("n") % 4 == 1, "cancel").otherwise("wait")
    given = {"payload": ["n"], "after": F.array(F.lit(parents[0]))}
    enqueue(df, dsn, "mail", on_failed=word, **given)
    fail_the_first(conn)
    assert claimed(conn, "mail") == list(range(0, 300, 4))
    states = dict(
        conn.execute(
            "select state::text, count(*) from pgbaton.jobs where queue = 'mail' group by 1"
        )
    )
    assert states == {"active": 75, "unscheduled": 75, "pending": 150}


def test_one_word_for_all_rows_says_nothing_about_those_that_wait_for_none(
    spark: SparkSession, dsn: str, conn: Conn, parents: list[int], method: str
) -> None:
    df = rows(spark, parents)
    done = enqueue(df, dsn, "mail", payload=["n"], after="parents", on_failed="cancel")
    assert done.inserted == 300
    assert conn.execute("select distinct on_failed from pgbaton.job_wait").fetchall() == [
        ("cancel",)
    ]
    assert enqueue(df, dsn, "mail", payload=["n"], after=parents[:2]).inserted == 300
    assert enqueue(df, dsn, "mail", payload=["n"], after=[]).inserted == 300


def test_a_row_that_names_no_job_is_named(
    spark: SparkSession, dsn: str, conn: Conn, parents: list[int], method: str
) -> None:
    df = rows(spark, parents)
    bad = F.when(F.col("n") == 217, F.array(F.lit(999_999))).otherwise(F.col("parents"))
    with pytest.raises(UnknownJob) as refusal:
        enqueue(
            df.withColumn("parents", bad), dsn, "orders", key="k", order_by="n", payload=["n"],
            after="parents", partitions=1,
        )  # fmt: skip
    said = str(refusal.value).splitlines()
    assert said[0].startswith("job 999999, named by after, does not exist (row ")
    assert said[0].endswith(" of partition 0, key '0', payload '{\"n\":217}')")
    assert said[1].startswith("HINT:  It was never committed")
    assert waits(conn, "orders") == {}


def test_a_row_that_names_no_job_goes_aside(
    spark: SparkSession, dsn: str, conn: Conn, parents: list[int]
) -> None:
    conn.execute("select pgbaton.create_queue('aside')")
    bad = F.when(F.col("n") == 217, F.array(F.lit(999_999))).otherwise(F.col("parents"))
    done = enqueue(
        rows(spark, parents).withColumn("parents", bad), dsn, "mail", payload=["n"],
        after="parents", on_bad_rows="aside", bad_rows_queue="aside",
    )  # fmt: skip
    assert (done.inserted, done.aside) == (299, 1)
    [(payload,)] = conn.execute("select payload from pgbaton.live_jobs where queue = 'aside'")
    assert payload["reason"] == "job 999999, named by after, does not exist"
    assert payload["sqlstate"] == "PB002"
    assert payload["columns"]["after"] == "[999999]"


def test_what_cannot_be_meant(
    spark: SparkSession, dsn: str, queues: None, parents: list[int]
) -> None:
    df = rows(spark, parents)
    with pytest.raises(ValueError, match=r"after is a column of bigint: pass one of array<bigint>"):
        enqueue(df, dsn, "mail", after="n")
    with pytest.raises(ValueError, match='on_failed is "stop": pass wait, cancel, run'):
        enqueue(df, dsn, "mail", after="parents", on_failed="stop")
    with pytest.raises(ValueError, match="on_failed needs after"):
        enqueue(df, dsn, "mail", on_failed="run")
    register(spark)
    text = df.selectExpr("'1' as payload", "'17' as after")
    with pytest.raises(Exception, match='column "after" is of string'):
        text.write.format("pgbaton").mode("append").options(dsn=dsn, queue="mail").save()


def test_the_data_source_and_micro_batches_take_the_columns(
    spark: SparkSession, dsn: str, conn: Conn, parents: list[int]
) -> None:
    register(spark)
    df = rows(spark, parents)
    df.selectExpr(
        "to_json(struct(n)) as payload",
        "parents as after",
        "if(size(parents) > 0, 'run', null) as on_failed",
    ).write.format("pgbaton").mode("append").options(dsn=dsn, queue="mail").save()
    assert waits(conn, "mail") == expected(parents)
    write = foreach_batch("orders", dsn, "s", payload=["n"], key="k", after="parents", partitions=2)
    for _ in range(2):
        write(df, 0)
    assert waits(conn, "orders") == expected(parents)
