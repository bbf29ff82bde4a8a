"""Batch read of the data source: live and finished jobs, and what is left to the database."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType
from sessions import Clock

from pgbaton._assemble import source_root
from pgbaton.errors import UnknownQueue
from pgbaton.spark import _options, read_blocked, read_history, register, snapshot
from pgbaton.spark._reader import JobReader
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


NEWEST = {"live": "created_at", "all": "created_at", "finished": "finished_at"}


@pytest.mark.parametrize("kind", NEWEST)
def test_no_answer_depends_on_another_use_of_the_dataframe(
    spark: SparkSession, dsn: str, conn: Conn, jobs: None, kind: str
) -> None:
    """Disjoint filters of one DataFrame, one after the other, joined, in unions and in SQL."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    df = read(spark, dsn, jobs=kind, queue="mail", partitions="2")
    total = {"finished": 20, "live": 100, "all": 120}[kind]
    middle = df.select(F.percentile("id", 0.5)).first()[0]
    low, high = df.where(F.col("id") < middle), df.where(F.col("id") > middle)
    never = df.where("id < 0")
    for _ in range(2):
        assert (df.count(), never.count(), df.count()) == (total, 0, total)
        assert (low.count(), high.count()) == (total // 2, total // 2)
        assert [each.count() for each in (low.union(high), high.union(low))] == [total, total]
        assert low.union(never).union(low).count() == total
        assert low.join(high, "queue").count() == (total // 2) ** 2
        assert low.join(high, "id").count() == 0
        assert df.join(low, "id").count() == df.join(low, "id", "left_anti").count() == total // 2
    df.createOrReplaceTempView("jobs_here")
    assert halves(spark, "jobs_here", middle) == (total // 2, total // 2, 0, total // 2)
    spark.sql(
        f"create or replace temporary view jobs_there using pgbaton options (dsn '{dsn}',"
        f" queue 'mail', jobs '{kind}', partitions '2')"
    )
    assert halves(spark, "jobs_there", middle) == (total // 2, total // 2, 0, total // 2)


def test_a_transaction_that_ends_while_a_read_is_planned(dsn: str, conn: Conn, jobs: None) -> None:
    """The offset is asked for after it, so the ranges must be as well."""
    reader = JobReader({"dsn": dsn, "jobs": "finished", "partitions": "2"}, schema_of(FINISHED))
    [(body,)] = conn.execute("select pg_get_functiondef('pgbaton._now()'::regprocedure)").fetchall()
    with psycopg.connect(dsn) as writer, ThreadPoolExecutor() as pool:
        writer.execute("select pg_current_xact_id()")
        conn.execute("select pg_advisory_lock(1719)")
        try:
            # Who asks for the time waits: within ended_jobs_offset that is before it looks around.
            conn.execute(
                "create or replace function pgbaton._now() returns timestamptz language plpgsql as"
                " $$ begin perform pg_advisory_xact_lock_shared(1719); return clock_timestamp();"
                " end $$"
            )
            planned = pool.submit(reader.partitions)
            while not conn.execute(
                "select from pg_locks where locktype = 'advisory' and objid = 1719 and not granted"
            ).fetchall():
                assert not planned.done(), planned.result()
            writer.commit()
        finally:
            conn.execute("select pg_advisory_unlock(1719)")
            assert planned.result(timeout=60)
            conn.execute(body)


def halves(spark: SparkSession, view: str, middle: float) -> tuple[int, ...]:
    """How many jobs are on either side, in no state, and on one side of a join."""
    counts = (
        "(select count(*) from jobs where id < middle)",
        "(select count(*) from jobs where id > middle)",
        "(select count(*) from jobs where state = 'nope')",
        "(select count(*) from jobs a join jobs b using (id) where a.id < middle)",
    )
    text = f"select {', '.join(counts)}".replace("middle", str(middle))
    found = spark.sql(
        text.replace("from jobs", f"from {view}").replace("join jobs", f"join {view}")
    )
    return tuple(found.first())


def test_the_database_filters_by_options(
    spark: SparkSession, dsn: str, conn: Conn, jobs: None, method: str
) -> None:
    conn.execute(
        "select pgbaton.enqueue_job('mail', '{}', job_type => t)"
        " from unnest(array['it''s', 'a,b']) as t"
    )
    ids = [row[0] for row in conn.execute("select id from pgbaton.live_jobs order by id")]
    for expected, options in (
        (1, {"jobs": "live", "job_type": "it's"}),
        (1, {"jobs": "live", "job_type": "a,b"}),
        (0, {"jobs": "live", "job_type": "a"}),
        (102, {"jobs": "live", "state": "pending"}),
        (103, {"jobs": "live", "state": "pending, failed"}),
        (1, {"jobs": "all", "state": "failed"}),
        (2, {"jobs": "live", "ids": f"{ids[0]}, {ids[-1]},-7"}),
        (0, {"jobs": "live", "since": "2100-01-01"}),
        (103, {"jobs": "live", "until": "2100-01-01", "since": "2001-01-01T00:00:00-11:00"}),
        (20, {"since": "2001-01-01", "until": "2100-01-01"}),
        (0, {"until": "2001-01-01"}),
    ):
        assert read(spark, dsn, **options).count() == expected, options
    # An instant is the same whatever the time zone in which it is written.
    [(first, last)] = conn.execute(
        "select min(finished_at), max(finished_at) from pgbaton.finished_jobs"
    ).fetchall()
    for zone in (UTC, ZoneInfo("Asia/Kolkata")):
        since, until = first.astimezone(zone), last.astimezone(zone)
        at_most = read_history(spark, dsn, "mail", since=since, until=until)
        assert at_most.count() == (0 if first == last else at_most.where("id > 0").count())
        until += timedelta(microseconds=1)
        some = read_history(
            spark, dsn, since=since, until=until, state="completed", columns=["state", "id"]
        )
        assert some.columns == ["state", "id"]
        assert some.where("state = 'completed'").count() == 20
    assert read_history(spark, dsn, job_type="x").count() == 0
    assert read_history(spark, dsn, state="failed").count() == 0


def test_ranges_hold_as_many_jobs(
    spark: SparkSession, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    """Of 3 finished jobs a thousand ids before 600 others."""
    conn.execute("select pgbaton.enqueue_batch('mail', array_fill('{}'::jsonb, array[3]))")
    work_off(conn)
    conn.execute(
        "select pgbaton.enqueue_batch('orders', array_fill('{}'::jsonb, array[5000]),"
        " array_fill('k'::text, array[5000]))"
    )
    conn.execute("select pgbaton.enqueue_batch('mail', array_fill('{}'::jsonb, array[1280]))")
    work_off(conn)
    for options in ({}, {"since": "2001-01-01"}, {"jobs": "all", "queue": "mail"}):
        parts = read(spark, dsn, partitions="4", **options)
        sizes = [row["count"] for row in parts.groupBy(F.spark_partition_id()).count().collect()]
        assert sum(sizes) == 1283
        assert len(sizes) == 4
        assert max(sizes) <= 1283 / 4 + 64, sizes


def work_off(conn: Conn) -> None:
    while row := conn.execute(
        "select lease_token from pgbaton.claim_job_batch('w', '{mail}', batch_size => 500) limit 1"
    ).fetchone():
        conn.execute("select pgbaton.complete_claim(%s)", row)


def test_bad_options_are_named(spark: SparkSession, dsn: str, queues: None) -> None:
    finished = schema_of(FINISHED)
    for message, options in (
        ('option "dsn" is missing', {}),
        ("option jobs is dead: pass finished, live, all", {"dsn": dsn, "jobs": "dead"}),
        ("option partitions is two: pass a whole number", {"dsn": dsn, "partitions": "two"}),
        ("option partitions is 0", {"dsn": dsn, "partitions": "0"}),
        ('no option "quue" for read: did you mean "queue"', {"dsn": dsn, "quue": "mail"}),
        (
            'no option "zzz" for read: there are dsn, password, dsn_read, queue',
            {"dsn": dsn, "zzz": "1"},
        ),
        ('"startingoffsets" for read: it is one of readStream', {"startingOffsets": "latest"}),
        ('"micro_batch" for read: there are', {"micro_batch": "true"}),
        ("option since is", {"dsn": dsn, "since": "yesterday"}),
        ("option ids is", {"dsn": dsn, "ids": "1,x"}),
        ("option state is", {"dsn": dsn, "state": "failed,"}),
        ('option ids is "\\[1", which is no JSON array', {"dsn": dsn, "ids": "[1"}),
        ("either the option columns or a schema", {"dsn": dsn, "columns": "id"}),
    ):
        with pytest.raises(ValueError, match=message):
            JobReader(options, finished)
    register(spark)
    for given in ("/data/jobs", ["a", "b"]):
        with pytest.raises(Exception, match="jobs are at no path"):
            spark.read.format("pgbaton").option("dsn", dsn).load(given)
    with pytest.raises(Exception, match='there is no column "nope", but id, queue'):
        read(spark, dsn, columns="id,nope")
    for columns, message in (
        (["id", "id"], 'option columns has "id" twice'),
        ([], "option columns names none"),
    ):
        with pytest.raises(ValueError, match=message):
            read_history(spark, dsn, "mail", columns=columns)
    with pytest.raises(ValueError, match='column "progress"'):
        JobReader({"dsn": dsn}, schema_of({"progress": LIVE["progress"]}))
    with pytest.raises(ValueError, match='column "id" is bigint, not int'):
        JobReader({"dsn": dsn}, schema_of({"id": LIVE["priority"]}))
    with pytest.raises(Exception, match='queue "nope" does not exist') as raised:
        read(spark, dsn, queue="nope").count()
    assert "CONTEXT" not in str(raised.value)
    with pytest.raises(Exception, match=r'enum pgbaton\.job_state: "nope"'):
        read(spark, dsn, state="nope").count()
    with pytest.raises(UnknownQueue) as unknown:
        read_history(spark, dsn, "nope")
    assert str(unknown.value).startswith('queue "nope" does not exist\nHINT:  ')
    assert "CONTEXT" not in str(unknown.value)


def test_the_guide_has_the_table_of_options() -> None:
    assert _options.table() in (source_root() / "docs" / "spark.md").read_text("utf-8")


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
