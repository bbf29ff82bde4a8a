"""The data source `pgbaton`: what it takes, what it refuses, and streams that come again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from psycopg.conninfo import make_conninfo
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

from pgbaton.spark import enqueue, foreach_batch, register
from pgbaton.spark._columns import _has_nul

Conn = psycopg.Connection[Any]
Drain = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def write(spark: SparkSession, dsn: str, queues: None) -> Callable[..., None]:
    register(spark)

    def append(df: DataFrame, queue: str = "mail", **options: str) -> None:
        writer = df.write.format("pgbaton").mode("append")
        writer.options(dsn=dsn, queue=queue, **options).save()

    return append


def payloads(conn: Conn) -> list[Any]:
    return [p for (p,) in conn.execute("select payload from pgbaton.jobs order by id").fetchall()]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_a_nul_is_found_in_the_rows_of_a_chunk_and_in_no_others(kind: pa.DataType) -> None:
    texts = pa.array(["a", "b\0", None, "", "c", None], kind)
    assert [n for n in range(len(texts)) if _has_nul(texts.slice(n, 1))] == [1]
    assert _has_nul(texts)
    assert not _has_nul(texts.slice(2))
    assert not _has_nul(texts.slice(0, 0))


@pytest.fixture
def odd_zone(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    """A time zone that Java knows and Python does not."""
    usual = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield
    spark.conf.set("spark.sql.session.timeZone", usual)


# Columns ------------------------------------------------------------------------------------------
def test_all_columns_arrive(spark: SparkSession, conn: Conn, write: Callable[..., None]) -> None:
    df = spark.sql(
        "select named_struct('n', 1) as payload, 'a\"\\\\b' as singleton_key, 150 as priority,"
        " 'bill' as JOB_TYPE, array('y', 'x \"q\"') as tags, 7L as order_no, 'd1' as dedup_id,"
        " timestamp'2999-01-01 00:00:00.25Z' as run_at"
    )
    write(df, "orders")
    assert conn.execute(
        "select payload, singleton_key, priority, job_type, tags, run_at from pgbaton.live_jobs"
    ).fetchall() == [
        ({"n": 1}, 'a"\\b', 150, "bill", ['x "q"', "y"], datetime(2999, 1, 1, 0, 0, 0, 250000, UTC))
    ]
    write(df, "orders")
    assert len(payloads(conn)) == 1  # its dedup_id is known


def test_tags_may_hold_what_arrays_and_json_escape(
    spark: SparkSession, conn: Conn, write: Callable[..., None]
) -> None:
    tags = sorted(["a\nb", "c\td", "\x01", 'q"', "\\n", "x,y", "{z}", "NULL", " s ", "é😀"])
    write(spark.createDataFrame([("1", tags)], "payload string, tags array<string>"))
    [(found,)] = conn.execute("select tags from pgbaton.live_jobs").fetchall()
    assert sorted(found) == tags


@pytest.mark.parametrize("odd_zone", ["Z", "PST", "UTC+3"], indirect=True)
def test_instants_are_utc_whatever_the_name_of_the_zone(
    spark: SparkSession, conn: Conn, write: Callable[..., None], odd_zone: None
) -> None:
    instant = "timestamp'1890-01-01 00:00:00Z'"
    nested = f"struct({instant} as t, array({instant}) as a, map('k', struct({instant} as t)) as m)"
    write(spark.sql(f"select {nested} as payload, {instant} as run_at"))
    assert conn.execute("select payload, run_at from pgbaton.live_jobs").fetchall() == [
        (
            {
                "t": "1890-01-01T00:00:00.000000Z",
                "a": ["1890-01-01T00:00:00.000000Z"],
                "m": {"k": {"t": "1890-01-01T00:00:00.000000Z"}},
            },
            datetime(1890, 1, 1, tzinfo=UTC),
        )
    ]


def test_a_thread_that_registers_can_use_the_format(
    spark: SparkSession, conn: Conn, dsn: str, queues: None
) -> None:
    def append() -> None:
        register(spark)
        writer = spark.sql("select '1' as payload").write.format("pgbaton").mode("append")
        writer.options(dsn=dsn, queue="mail").save()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(append).result()
    assert payloads(conn) == [1]


def test_rows_with_labels_need_no_other_lane(
    spark: SparkSession, conn: Conn, write: Callable[..., None]
) -> None:
    conn.execute("select pgbaton.create_queue('one', max_lanes => 1)")
    conn.execute("select pgbaton.enqueue_job('one', priority => 7, job_type => 'bill')")
    write(spark.sql("select '1' as payload, 7 as priority, 'bill' as job_type"), "one")
    assert conn.execute(
        "select priority, job_type, count(*) from pgbaton.live_jobs group by 1, 2"
    ).fetchall() == [(7, "bill", 2)]


def test_payload_of_any_type_is_the_json_that_spark_makes(
    spark: SparkSession, conn: Conn, write: Callable[..., None]
) -> None:
    df = spark.sql(
        """
        select named_struct(
            't', timestamp'2020-07-01 12:00:00.123456Z', 'n', timestamp_ntz'2020-07-01 12:00:00',
            'd', date'0001-01-01', 'dec', cast(1.10 as decimal(30,2)),
            'tiny', cast(0.0000001 as decimal(20,10)), 'f', float(1.1), 'e', double(1e300),
            'nan', double('NaN'), 'inf', float('-Infinity'), 'big', 9007199254740993L,
            'b', true, 'bytes', binary('ab'), 'none', cast(null as string),
            'text', 'é"\\\\日本', 'm', map('k', array(1, null)), 's', named_struct('x', null),
            'v', parse_json('{"x": [1, 2.50, null]}')
        ) as payload
        """
    )
    write(df)
    enqueue(df, conn_dsn(conn), "mail", payload="payload", method="datasource")
    ours, sparks = (
        json.loads(text)
        for (text,) in conn.execute("select payload::text from pgbaton.job order by id").fetchall()
    )
    assert ours == sparks
    assert (ours["t"], ours["n"]) == ("2020-07-01T12:00:00.123456Z", "2020-07-01T12:00:00.000000")
    assert (ours["f"], ours["big"], ours["nan"]) == (1.1, 9007199254740993, "NaN")
    [(exact,)] = conn.execute(
        "select distinct (payload ->> 'dec') || ' ' || (payload ->> 'tiny') from pgbaton.job"
    ).fetchall()
    assert exact == "1.10 0.0000001000"


def conn_dsn(conn: Conn) -> str:
    return make_conninfo(conn.info.dsn, password=conn.info.password)


def test_order_no_orders_the_rows_of_all_partitions(
    spark: SparkSession, write: Callable[..., None], drain: Drain
) -> None:
    df = spark.range(0, 1000, 1, 4).selectExpr(
        "to_json(struct(id)) as payload", "'k' as singleton_key", "-id as order_no"
    )
    write(df, "orders")
    assert [job[1]["id"] for job in drain("orders")] == list(range(999, -1, -1))


def test_an_empty_dataframe_is_no_jobs(
    spark: SparkSession, conn: Conn, write: Callable[..., None]
) -> None:
    write(spark.createDataFrame([], "payload string"))
    assert payloads(conn) == []


def test_a_named_run_is_enqueued_once(
    spark: SparkSession, conn: Conn, write: Callable[..., None]
) -> None:
    df = spark.range(10).selectExpr("to_json(struct(id)) as payload")
    for partitions in (1, 3):
        write(df.repartition(partitions), run_id="r")
    assert len(payloads(conn)) == 10
    with pytest.raises(Exception, match="begun with other data"):
        write(df.where("id < 9"), run_id="r")


# Refusals -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("message", "select", "options"),
    [
        ('there is no column "payload", but priority', "1 as priority", {}),
        ('column "colour" is not one of a job', "'1' as payload, 'red' as colour", {}),
        (
            'column "Payload" is there twice|COLUMN_ALREADY_EXISTS',
            "'1' as payload, '2' as Payload",
            {},
        ),
        ('column "priority" is of string', "'1' as payload, '5' as priority", {}),
        ('column "run_at" is of date', "'1' as payload, date'2020-01-01' as run_at", {}),
        (
            'column "run_at" is of timestamp_ntz',
            "'1' as payload, timestamp_ntz'2020-01-01' as run_at",
            {},
        ),
        ('column "tags" is of string', "'1' as payload, 'a' as tags", {}),
        ('column "payload" is of int', "1 as payload", {}),
        ('column "payload" holds a interval', "array(interval '1' day) as payload", {}),
        ('column "payload" holds a map<int,int>', "map(1, 2) as payload", {}),
        ('there is no option "colour"', "'1' as payload", {"colour": "red"}),
        ('there is no option "stream_id"', "'1' as payload", {"stream_id": "s"}),
        ("run_id is empty", "'1' as payload", {"run_id": ""}),
        ('queue "nope" does not exist', "'1' as payload", {"queue": "nope"}),
        (
            'no column "singleton_key", and "orders" is a FIFO',
            "'1' as payload",
            {"queue": "orders"},
        ),
    ],
)
def test_what_is_wrong_with_a_write_is_said_before_it_begins(
    spark: SparkSession,
    conn: Conn,
    write: Callable[..., None],
    message: str,
    select: str,
    options: dict[str, str],
) -> None:
    with pytest.raises(Exception, match=message):
        write(spark.sql(f"select {select}"), **options)
    assert payloads(conn) == []


def test_an_option_that_is_missing_and_overwrite(
    spark: SparkSession, conn: Conn, dsn: str, write: Callable[..., None]
) -> None:
    df = spark.sql("select '1' as payload")
    with pytest.raises(Exception, match='option "queue" is missing'):
        df.write.format("pgbaton").mode("append").option("dsn", dsn).save()
    with pytest.raises(Exception, match='option "dsn" is missing'):
        df.write.format("pgbaton").mode("append").option("queue", "mail").save()
    with pytest.raises(Exception, match="never overwritten"):
        df.write.format("pgbaton").mode("overwrite").options(dsn=dsn, queue="mail").save()
    assert payloads(conn) == []


@pytest.mark.parametrize(
    ("message", "select"),
    [
        ('column "payload" holds text that is not JSON', "'\"secret' as payload"),
        (r'column "payload" holds \\u0000', "'\"secret\\\\u0000\"' as payload"),
        ('column "payload" holds a NUL character', "concat('\"secret', char(0), '\"') as payload"),
        ('column "job_type" holds a NUL', "'1' as payload, concat('secret', char(0)) as job_type"),
        ("payload is null", "cast(null as string) as payload"),
        ("priorities has a null entry", "'1' as payload, cast(null as int) as priority"),
        ('"priority" holds .* out of range', "'1' as payload, 3000000000 as priority"),
        ('"tags" holds a NUL', "'1' as payload, array(concat('secret', char(0))) as tags"),
        ('"run_at" holds a date or instant outside', "'1' as payload, Y10000 as run_at"),
        ('"payload" holds a date or instant outside', "struct(Y10000 as t) as payload"),
        ("dedup_id is empty", "'1' as payload, '' as dedup_id"),
    ],
)
def test_a_row_that_is_refused_refuses_them_all_and_shows_no_value(
    spark: SparkSession,
    conn: Conn,
    write: Callable[..., None],
    capfd: pytest.CaptureFixture[str],
    message: str,
    select: str,
) -> None:
    good = spark.range(10).selectExpr("to_json(struct(id)) as payload")
    bad = spark.sql("select " + select.replace("Y10000", "timestamp'+10000-01-02 00:00:00Z'"))
    with pytest.raises(Exception, match=message) as refusal:
        write(good.union(bad) if good.dtypes == bad.dtypes else bad)
    assert "secret" not in str(refusal.value)
    assert "secret" not in capfd.readouterr().err
    assert payloads(conn) == []
    assert conn.execute("select count(*) from pgbaton.spark_chunk").fetchone() == (0,)


# Streams ------------------------------------------------------------------------------------------
@pytest.fixture(params=["format", "foreachBatch"])
def sink(
    request: pytest.FixtureRequest, spark: SparkSession, dsn: str, queues: None
) -> Callable[[DataFrame], DataStreamWriter]:
    """Both ways to write a stream of JSON orders."""
    register(spark)

    def by_format(df: DataFrame) -> DataStreamWriter:
        rows = df.select(
            F.to_json(F.struct("*")).alias("payload"), F.col("k").alias("singleton_key")
        )
        return rows.writeStream.format("pgbaton").options(dsn=dsn, queue="orders", stream_id="s")

    def by_batch(df: DataFrame) -> DataStreamWriter:
        return df.writeStream.foreachBatch(foreach_batch("orders", dsn, "s", key="k", order_by="n"))

    return by_format if request.param == "format" else by_batch


def test_a_micro_batch_that_comes_again_after_a_restart_is_enqueued_once(
    spark: SparkSession,
    conn: Conn,
    sink: Callable[[DataFrame], DataStreamWriter],
    drain: Drain,
    tmp_path: Path,
) -> None:
    folder, checkpoint = tmp_path / "orders", tmp_path / "checkpoint"
    folder.mkdir()

    def run(batch: int) -> None:
        lines = [
            json.dumps({"k": f"k{n % 3}", "n": n}) for n in range(batch * 100, batch * 100 + 100)
        ]
        (folder / f"{batch}.json").write_text("\n".join(lines))
        orders = spark.readStream.schema("k string, n int").json(str(folder))
        stream = sink(orders).option("checkpointLocation", str(checkpoint))
        stream.trigger(availableNow=True).start().awaitTermination()

    run(0)
    run(1)
    # As if the driver had died between the commit of the database and the note of it in Spark.
    for path in (checkpoint / "commits").glob("*1*"):
        path.unlink()
    run(2)
    assert conn.execute("select count(*) from pgbaton.enqueue_run").fetchone() == (3,)
    seen: dict[str, list[int]] = {}
    for key, payload, _ in drain("orders"):
        seen.setdefault(key, []).append(payload["n"])
    assert seen == {f"k{k}": [n for n in range(300) if n % 3 == k] for k in range(3)}


def test_a_new_checkpoint_under_an_old_name_is_refused(
    spark: SparkSession,
    conn: Conn,
    sink: Callable[[DataFrame], DataStreamWriter],
    tmp_path: Path,
) -> None:
    """Its micro-batches are numbered anew, so that they would count as done and be lost."""
    folder = tmp_path / "orders"
    folder.mkdir()

    def run(checkpoint: str) -> None:
        orders = spark.readStream.schema("k string, n int").json(str(folder))
        stream = sink(orders).option("checkpointLocation", str(tmp_path / checkpoint))
        stream.trigger(availableNow=True).start().awaitTermination()

    (folder / "0.json").write_text('{"k": "a", "n": 0}')
    run("first")
    (folder / "1.json").write_text('{"k": "a", "n": 1}')
    with pytest.raises(Exception, match="needs another stream_id"):
        run("second")
    run("first")
    found = conn.execute("select array_agg(payload ->> 'n' order by id) from pgbaton.live_jobs")
    assert found.fetchone() == (["0", "1"],)
    assert conn.execute("select count(*) from pgbaton.spark_chunk").fetchone() == (0,)


def test_a_micro_batch_into_a_second_queue_needs_another_stream_id(
    spark: SparkSession, dsn: str, conn: Conn, queues: None, tmp_path: Path
) -> None:
    conn.execute("select pgbaton.create_queue('even'), pgbaton.create_queue('odd')")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("0\n1\n2\n3\n")
    even, odd = (foreach_batch(queue, dsn, "shared") for queue in ("even", "odd"))

    def split(df: DataFrame, batch_id: int) -> None:
        even(df.where("value % 2 = 0"), batch_id)
        odd(df.where("value % 2 = 1"), batch_id)

    query = (
        spark.readStream.text(str(tmp_path / "in"))
        .writeStream.foreachBatch(split)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    with pytest.raises(StreamingQueryException, match=r'run "shared:0" was begun with other data'):
        query.awaitTermination()
    counts = conn.execute("select queue, count(*) from pgbaton.live_jobs group by queue").fetchall()
    assert counts == [("even", 2)]


def test_a_stream_needs_a_name(spark: SparkSession, dsn: str, queues: None, tmp_path: Path) -> None:
    register(spark)
    orders = spark.readStream.schema("payload string").json(str(tmp_path))
    stream = orders.writeStream.format("pgbaton").options(dsn=dsn, queue="mail")
    (tmp_path / "one.json").write_text('{"payload": "1"}')
    query = stream.option("checkpointLocation", str(tmp_path / "c")).start()
    with pytest.raises(Exception, match='option "stream_id" is missing'):
        query.processAllAvailable()


def test_a_stream_may_be_named_and_only_appends(
    spark: SparkSession, dsn: str, conn: Conn, queues: None, tmp_path: Path
) -> None:
    """What Spark itself puts among the options is none that is misspelt."""
    register(spark)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.json").write_text('{"payload": "1"}')
    orders = spark.readStream.schema("payload string").json(str(tmp_path / "in"))

    def run(mode: str, stream_id: str) -> None:
        writer = orders.writeStream.format("pgbaton").outputMode(mode).queryName(stream_id)
        writer = writer.option("checkpointLocation", str(tmp_path / stream_id))
        options = {"dsn": dsn, "queue": "mail", "stream_id": stream_id}
        query = writer.options(**options).trigger(processingTime="1 second").start()
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    run("append", "named")
    assert payloads(conn) == [1]
    with pytest.raises(StreamingQueryException, match="does not support Update mode"):
        run("update", "other")
    counts = orders.groupBy("payload").count()
    write = foreach_batch("orders", dsn, "counts", key="payload", payload=["count"])
    writer = counts.writeStream.outputMode("update").foreachBatch(write)
    writer = writer.option("checkpointLocation", str(tmp_path / "counts"))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert payloads(conn) == [1, {"count": 1}]
