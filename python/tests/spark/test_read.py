"""Batch read of the data source: live and finished jobs, and what is left to the database."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    In,
    IsNotNull,
    IsNull,
    LessThanOrEqual,
    Not,
    StringContains,
    StringStartsWith,
)
from pyspark.sql.types import DataType
from sessions import Clock

from pgbaton.spark import read_blocked, read_history, register, snapshot
from pgbaton.spark._ranges import equal_ranges
from pgbaton.spark._reader import JobReader, condition_of
from pgbaton.spark._views import ALL, FINISHED, LIVE, schema_of

Conn = psycopg.Connection[Any]
STRANGE = "é\"'\\, \n\t{日本}"


@pytest.fixture
def jobs(conn: Conn, queues: None) -> None:
    """In mail 100 pending and 20 completed, one with a strange payload; in orders one failed."""
    payloads = [json.dumps({"n": n, "text": STRANGE}) for n in range(120)]
    conn.execute(
        "select pgbaton.enqueue_batch('mail', %s::text[]::jsonb[], tags => '{a,\"b c\"}')",
        [payloads],
    )
    conn.execute("select pgbaton.enqueue_job('orders', '{}', singleton_key => 'k')")
    conn.execute(
        "select pgbaton.complete_jobs(array_agg(id), max(lease_token), array_agg('\"\"'::jsonb))"
        " from pgbaton.claim_job_batch('w', '{mail}', batch_size => 20)"
    )
    conn.execute(
        "select pgbaton.fail_job(id, 'broke', lease_token, false)"
        " from pgbaton.claim_job_batch('w', '{orders}')"
    )


def read(spark: SparkSession, dsn: str, **options: str) -> DataFrame:
    register(spark)
    return spark.read.format("pgbaton").options(dsn=dsn, **options).load()


@pytest.mark.parametrize(
    ("kind", "view", "columns"),
    [("finished", "finished_jobs", FINISHED), ("live", "live_jobs", LIVE), ("all", "jobs", ALL)],
)
def test_every_value_is_what_the_database_has(
    spark: SparkSession,
    dsn: str,
    conn: Conn,
    jobs: None,
    kind: str,
    view: str,
    columns: dict[str, DataType],
) -> None:
    df = read(spark, dsn, jobs=kind, partitions="3")
    assert df.schema == schema_of(columns)
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    theirs = conn.execute(
        sql.SQL("select {} from pgbaton.{} order by id").format(names, sql.Identifier(view))
    ).fetchall()
    ours = sorted(df.collect(), key=lambda row: row["id"])
    assert [tuple(map(_plain, row)) for row in ours] == [tuple(map(_plain, r)) for r in theirs]


def _plain(value: Any) -> Any:
    """JSON as its value, instants as seconds: Spark gives them in the zone of the machine."""
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, str) and value[:1] in ("{", '"'):
        return json.loads(value)
    return value


def test_only_the_columns_of_a_given_schema_are_read(
    spark: SparkSession, dsn: str, jobs: None
) -> None:
    register(spark)
    some = spark.read.format("pgbaton").schema("resolution string").option("dsn", dsn).load()
    assert [tuple(row) for row in some.collect()] == [(None,)] * 20


def test_filters_are_answered_by_the_database(
    spark: SparkSession, dsn: str, conn: Conn, jobs: None
) -> None:
    live = read(spark, dsn, jobs="live")
    [first] = conn.execute("select min(id) from pgbaton.live_jobs").fetchone()
    pushed = (
        (F.col("state") == "pending")
        & ~F.col("queue").isin("orders", "x")
        & F.col("singleton_key").isNull()
        & (F.col("id") > first)
        & (F.col("id") <= first + 50)
        & (F.col("created_at") < F.lit(datetime(2100, 1, 1, tzinfo=UTC)))
        & F.col("job_type").startswith("")
    )
    found = live.where(pushed)
    assert found.count() == 50
    plan = found._jdf.queryExecution().executedPlan().toString()
    assert "Filter " not in plan, plan
    # And these by Spark.
    left = (F.get_json_object("payload", "$.n") >= 110) & F.array_contains("tags", "b c")
    found = live.where(left & (F.col("queue") > "a"))
    assert found.count() == 10
    assert "Filter " in found._jdf.queryExecution().executedPlan().toString()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (EqualTo(("queue",), "it's"), "\"queue\" = 'it''s'"),
        (EqualTo(("state",), "failed"), "\"state\"::text = 'failed'"),
        (EqualNullSafe(("singleton_key",), None), '"singleton_key" is null'),
        (EqualNullSafe(("attempt",), 1), '"attempt" is not distinct from 1'),
        (Not(In(("priority",), (1, 2))), 'not ("priority" in (1, 2))'),
        (In(("priority",), (1, None)), None),
        (GreaterThan(("id",), 5), '"id" > 5'),
        (GreaterThan(("queue",), "m"), None),
        (LessThanOrEqual(("run_at",), datetime(2020, 1, 1)), None),
        (IsNull(("run_at",)), '"run_at" is null'),
        (Not(IsNotNull(("run_at",))), 'not ("run_at" is not null)'),
        (StringStartsWith(("job_type",), "a%"), "starts_with(\"job_type\", 'a%')"),
        (StringContains(("job_type",), "a"), None),
        (Not(StringContains(("job_type",), "a")), None),
        (EqualTo(("job_type",), "a\0"), None),
        (StringStartsWith(("job_type",), "\0"), None),
        (EqualTo(("payload",), "{}"), None),
        (EqualTo(("no",), 1), None),
    ],
)
def test_what_the_database_is_asked(conn: Conn, given: Filter, expected: str | None) -> None:
    condition = condition_of(given, FINISHED)
    assert (condition and condition.as_string(conn)) == expected


def test_ranges_cover_all_ids_once() -> None:
    for first, last, partitions in ((1, 1, 8), (5, 104, 7), (1, 3, 3), (0, -1, 4)):
        ids = [n for r in equal_ranges(first, last, partitions) for n in range(r.first, r.last + 1)]
        assert ids == list(range(first, last + 1))
        assert len(equal_ranges(first, last, partitions)) <= partitions


def test_bad_options_are_named(spark: SparkSession, dsn: str, queues: None) -> None:
    finished = schema_of(FINISHED)
    for message, options in (
        ("option dsn is missing", {}),
        ("option jobs is dead: pass finished, live, all", {"dsn": dsn, "jobs": "dead"}),
        ("option partitions is two: pass a number", {"dsn": dsn, "partitions": "two"}),
        ("partitions is 0", {"dsn": dsn, "partitions": "0"}),
        ('there is no option "quue" for this read', {"dsn": dsn, "quue": "mail"}),
    ):
        with pytest.raises(ValueError, match=message):
            JobReader(options, finished)
    with pytest.raises(ValueError, match='column "progress"'):
        JobReader({"dsn": dsn}, schema_of({"progress": LIVE["progress"]}))
    with pytest.raises(ValueError, match='column "id" is bigint, not int'):
        JobReader({"dsn": dsn}, schema_of({"id": LIVE["priority"]}))
    with pytest.raises(Exception, match='queue "nope" does not exist'):
        read(spark, dsn, queue="nope").count()


# One moment ---------------------------------------------------------------------------------------
def test_a_snapshot_is_one_moment_for_all_reads(
    spark: SparkSession, dsn: str, conn: Conn, jobs: None, method: str
) -> None:
    with snapshot(dsn) as moment:
        conn.execute(
            "select pgbaton.complete_claim(max(lease_token))"
            " from pgbaton.claim_job_batch('w', '{mail}', batch_size => 50)"
        )
        then = read_history(spark, dsn, "mail", partitions=4, snapshot=moment)
        live = read(spark, dsn, jobs="live", queue="mail", snapshot=moment.id, partitions="4")
        assert (then.count(), live.count()) == (20, 100)
        assert read_history(spark, dsn, "mail").count() == 70
    with pytest.raises(Exception, match="snapshot"):
        then.count()


def test_retention_waits_for_a_snapshot(
    spark: SparkSession, dsn: str, conn: Conn, queues: None
) -> None:
    """A partition that is dropped is gone for older snapshots too."""
    conn.execute("select pgbaton.enqueue_batch('mail', array_fill('{}'::jsonb, array[50]))")
    conn.execute(
        "select pgbaton.complete_claim(max(lease_token))"
        " from pgbaton.claim_job_batch('w', '{mail}', batch_size => 50)"
    )
    conn.execute("select pgbaton.update_queue('mail', retention => '1 day')")
    role = f"monitor_{conn.info.dbname}"
    conn.execute(f"create role {role} login password 'p' in role pgbaton_monitor")
    monitor = make_conninfo(dsn, user=role, password="p")  # noqa: S106
    kept = "select count(*) from pgbaton.finished_jobs"
    with Clock(conn) as clock:
        with snapshot(monitor) as moment:
            clock.advance("40 days")
            conn.execute("select pgbaton.run_maintenance()")
            assert read_history(spark, monitor, "mail", snapshot=moment).count() == 50
        clock.advance("1 day")
        conn.execute("select pgbaton.run_maintenance()")
        assert conn.execute(kept).fetchone() == (0,)
    conn.execute(f"drop role {role}")


def test_blocked_keys(spark: SparkSession, dsn: str, conn: Conn, jobs: None) -> None:
    conn.execute("select pgbaton.enqueue_job('orders', '{}', singleton_key => 'k')")
    [row] = read_blocked(spark, dsn).collect()
    assert (row["queue"], row["singleton_key"], row["state"]) == ("orders", "k", "failed")
    assert (row["attempts"], row["last_error"], row["waiting_count"]) == (1, "broke", 1)
    assert row["next_run_at"] is None
    assert read_blocked(spark, dsn, "orders").count() == 1
    assert read_blocked(spark, dsn, "mail").count() == 0
