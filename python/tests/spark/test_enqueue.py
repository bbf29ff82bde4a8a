"""A DataFrame becomes jobs: complete, in order per key, or refused in one sentence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from pgbaton.errors import IncompatibleServer, KeyRequired, UnknownQueue
from pgbaton.spark import _jdbc, enqueue
from pgbaton.spark._rows import Wanted, job_rows, key_place, stripe

Conn = psycopg.Connection[Any]
Drain = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def steps(spark: SparkSession) -> DataFrame:
    """3,000 rows: 40 keys, whose steps are shuffled over all partitions."""
    rows = spark.range(0, 3000, 1, 5)
    return rows.selectExpr(
        "concat('k', id * 7919 % 40) as k", "cast(id * 7919 % 3000 as int) as step"
    )


def jobs_in(conn: Conn) -> int:
    return conn.execute("select count(*) from pgbaton.jobs").fetchone()[0]


def steps_by_key(worked: list[tuple[Any, ...]]) -> dict[str, list[int]]:
    found = defaultdict(list)
    for key, payload, _ in worked:
        found[key].append(payload["step"])
    return dict(found)


# Order ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("partitions", [1, 7])
def test_jobs_of_a_key_keep_the_order_of_order_by(
    steps: DataFrame, dsn: str, drain: Drain, method: str, partitions: int
) -> None:
    done = enqueue(steps, dsn, "orders", key="k", order_by="step", partitions=partitions)
    assert (done.inserted, done.deduped, done.already, done.method) == (3000, 0, 0, method)
    assert sum(part.inserted for part in done.parts) == 3000
    assert 1 <= len(done.parts) <= (partitions if method == "jdbc" else 1)
    expected = defaultdict(list)
    for row in steps.orderBy("step").collect():
        expected[row["k"]].append(row["step"])
    assert steps_by_key(drain("orders")) == expected


def test_several_columns_order_and_may_go_down(
    spark: SparkSession, dsn: str, drain: Drain, method: str
) -> None:
    df = spark.createDataFrame(
        [("a", n // 3, n % 3, n) for n in range(9)], "k string, x int, y int, step int"
    )
    enqueue(df, dsn, "orders", key="k", order_by=[F.desc("x"), "y"], payload=["step"])
    assert steps_by_key(drain("orders")) == {"a": [6, 7, 8, 3, 4, 5, 0, 1, 2]}


def test_a_key_that_is_made_by_chance_is_made_once(
    steps: DataFrame, dsn: str, drain: Drain, method: str
) -> None:
    chance = F.expr("cast(rand() * 5 as int)")
    enqueue(steps, dsn, "orders", key=chance, order_by="step", partitions=7)
    found = steps_by_key(drain("orders"))
    assert len(found) == 5
    assert all(numbers == sorted(numbers) for numbers in found.values())


def test_without_order_by_and_among_equals_the_rows_keep_their_order(
    spark: SparkSession, dsn: str, drain: Drain, method: str
) -> None:
    df = spark.range(0, 1000, 1, 5).selectExpr("'a' as k", "cast(id as int) as step", "1 as same")
    enqueue(df, dsn, "orders", key="k", partitions=3)
    enqueue(
        df.selectExpr("k", "step + 1000 as step", "same"), dsn, "orders", key="k", order_by="same"
    )
    assert steps_by_key(drain("orders")) == {"a": list(range(2000))}


def test_partitions_share_no_stripe_and_rows_come_stripe_by_stripe(steps: DataFrame) -> None:
    rows = job_rows(steps, Wanted(key="k", order_by="step"), 4, is_repeatable=False)
    seen = (
        rows.select(stripe(key_place(F.col("singleton_key"))).alias("s"))
        .rdd.mapPartitions(lambda part: [[row["s"] for row in part]])
        .collect()
    )
    assert len(seen) == 4
    assert all(part == sorted(part) for part in seen)
    assert sum(len(set(part)) for part in seen) == len(set().union(*seen)) > 20


@pytest.mark.parametrize(("partitions", "most"), [(8, 32), (7, 37), (256, 1)])
def test_stripes_spread_evenly(spark: SparkSession, partitions: int, most: int) -> None:
    df = spark.range(5000).selectExpr("nullif(concat('k', id), 'k7') as k", "id as payload")
    rows = job_rows(df, Wanted(key="k"), partitions, is_repeatable=False)
    placed = rows.select(
        F.spark_partition_id().alias("part"), stripe(key_place(F.col("singleton_key"))).alias("s")
    ).distinct()
    stripes = [row["s"] for row in placed.collect()]
    assert sorted(stripes) == list(range(256))  # each in one partition
    counts = [row["count"] for row in placed.groupBy("part").count().collect()]
    assert len(counts) == partitions
    assert max(counts) == most


def test_the_rows_of_a_key_come_one_after_the_other(steps: DataFrame) -> None:
    rows = job_rows(steps, Wanted(key="k", order_by="step"), 3, is_repeatable=False)
    keys = [row["singleton_key"] for row in rows.select("singleton_key").collect()]
    changes = sum(key != before for key, before in zip(keys[1:], keys, strict=False))
    assert changes == len(set(keys)) - 1 == 39


def test_the_stripe_is_the_one_of_the_database(spark: SparkSession, conn: Conn) -> None:
    keys = ["a", "Zürich", "日本", "", " x ", "x" * 1000]
    df = spark.createDataFrame([(key,) for key in keys], "k string")
    ours = [row[0] for row in df.select(stripe(key_place(F.col("k")))).collect()]
    theirs = conn.execute(
        "select array_agg(pgbaton._stripe(0, k) order by n)"
        " from unnest(%s::text[]) with ordinality as u (k, n)",
        [keys],
    ).fetchone()[0]
    assert ours == theirs


def test_lanes_are_there_before_the_partitions_write(
    steps: DataFrame, dsn: str, conn: Conn, queues: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(rows: DataFrame, target: object) -> None:
        assert conn.execute("select count(*) from pgbaton.lane").fetchone() == (3,)
        raise RuntimeError("looked")

    monkeypatch.setattr(_jdbc, "write", write)
    with pytest.raises(RuntimeError, match="looked"):
        enqueue(steps, dsn, "orders", key="k", priority=F.col("step") % 3)


def test_two_calls_at_once_with_other_partitions_do_not_deadlock(
    steps: DataFrame, dsn: str, drain: Drain
) -> None:
    with ThreadPoolExecutor(2) as threads:
        calls = [
            threads.submit(enqueue, steps, dsn, "orders", key="k", priority="step", partitions=n)
            for n in (2, 3)
        ]
        assert [call.result().inserted for call in calls] == [3000, 3000]
    assert len(drain("orders")) == 6000


# Payload ----------------------------------------------------------------------------------------
def test_payload_is_all_columns_a_list_of_them_or_one(
    spark: SparkSession, dsn: str, drain: Drain, method: str
) -> None:
    df = spark.createDataFrame(
        [(1, "é\"'\\", None, '{"own": [1, 2]}')], "n int, `a text` string, nothing string, j string"
    )
    whole = {"n": 1, "a text": "é\"'\\", "nothing": None, "j": '{"own": [1, 2]}'}
    for payload, expected in (
        (None, whole),
        (["n", "nothing"], {"n": 1, "nothing": None}),
        ("j", {"own": [1, 2]}),
        (F.struct("n", F.create_map(F.lit("x"), "n").alias("m")), {"n": 1, "m": {"x": 1}}),
        (F.array("n", "n"), [1, 1]),
    ):
        enqueue(df, dsn, "mail", payload=payload)
        assert [job[1] for job in drain("mail")] == [expected]


def test_a_column_is_found_by_its_very_name(
    spark: SparkSession, dsn: str, drain: Drain, method: str
) -> None:
    df = spark.createDataFrame([("x", 1), ("x", 2)], ["a.b", "c`d"])
    enqueue(df, dsn, "orders", key="a.b", order_by=F.desc("`c``d`"), payload=["c`d", "a.b"])
    expected = [("x", {"c`d": n, "a.b": "x"}, 100) for n in (2, 1)]
    assert drain("orders") == expected


def test_what_json_would_lose_is_refused(spark: SparkSession, dsn: str, queues: None) -> None:
    df = spark.sql("select named_struct('id', 1) as o, named_struct('id', 2) as c")
    for message, payload in (
        ('payload has two members "id"', ["o.id", "c.id"]),
        ('payload has two members "x"', F.array(F.expr("named_struct('x', 1, 'x', 2)"))),
        ("payload holds a map whose keys are date", F.expr("map(date'2020-01-01', 1)")),
        ("payload.m holds a map whose keys are binary", F.expr("struct(map(X'00', 1) as m)")),
    ):
        with pytest.raises(ValueError, match=message):
            enqueue(df, dsn, "mail", payload=payload)


def test_instants_are_iso_utc_and_what_json_lacks_is_text(
    spark: SparkSession, dsn: str, drain: Drain, method: str
) -> None:
    df = spark.sql(
        "select timestamp'2020-07-01 12:00:00.123456Z' as t,"
        " timestamp_ntz'2020-07-01 12:00:00' as local, date'2020-07-01' as d,"
        " double('NaN') as nan, cast(1.10 as decimal(9,2)) as money, 9007199254740993L as big,"
        " binary('ab') as bytes, named_struct('t', timestamp'2020-01-01 00:00:00Z') as s"
    )
    enqueue(df, dsn, "mail")
    [(_, payload, _)] = drain("mail")
    assert payload == {
        "t": "2020-07-01T12:00:00.123456Z",
        "local": "2020-07-01T12:00:00.000000",
        "d": "2020-07-01",
        "nan": "NaN",
        "money": 1.1,
        "big": 9007199254740993,
        "bytes": "YWI=",
        "s": {"t": "2020-01-01T00:00:00.000000Z"},
    }


def test_priority_is_one_for_all_or_a_column(
    spark: SparkSession, dsn: str, drain: Drain, method: str
) -> None:
    df = spark.createDataFrame([(30,), (150,)], "p long")
    enqueue(df, dsn, "mail")
    enqueue(df, dsn, "mail", priority=120)
    enqueue(df, dsn, "mail", priority="p")
    assert [job[2] for job in drain("mail")] == [150, 120, 120, 100, 100, 30]


def test_a_key_may_be_any_value_and_null_where_no_order_is_needed(
    spark: SparkSession, dsn: str, drain: Drain, method: str
) -> None:
    df = spark.createDataFrame([(7,), (None,)], "k int")
    enqueue(df, dsn, "mail", key="k")
    assert {job[0] for job in drain("mail")} == {"7", None}


def test_a_pooler_that_mixes_up_prepared_statements_is_named(
    steps: DataFrame, dsn: str, conn: Conn, queues: None
) -> None:
    conn.execute(
        "create function public.pooled() returns trigger language plpgsql as $$ begin"
        " raise 'prepared statement \"S_1\" already exists' using errcode = '42P05'; end $$;"
        " create trigger pooled before insert on pgbaton.inbox_row"
        " for each statement execute function public.pooled()"
    )
    with pytest.raises(psycopg.errors.DuplicatePreparedStatement, match="A pooler") as said:
        enqueue(steps, dsn, "orders", key="k", method="jdbc")
    assert "max_prepared_statements" in str(said.value)


# Nothing to do, and errors ----------------------------------------------------------------------
def test_an_empty_dataframe_is_no_jobs(
    steps: DataFrame, dsn: str, queues: None, method: str
) -> None:
    done = enqueue(steps.where("step < 0"), dsn, "orders", key="k")
    assert (done.inserted, done.deduped, done.already) == (0, 0, 0)


def test_what_is_wrong_with_a_call_is_said_before_anything_is_written(
    steps: DataFrame, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    for message, arguments in (
        ('has no column "aircraft", but k, step', {"key": "aircraft"}),
        ('has no column "x", but k, step', {"key": F.upper(F.col("x"))}),
        ('has no column "x"', {"key": "k", "order_by": ["step", "x"]}),
        ('has no column "x"', {"payload": ["step", "x"]}),
        ('has no column "x"', {"payload": "x"}),
        ('has no column "x"', {"priority": "x"}),
        ("order_by needs a key", {"order_by": "step"}),
        ("partitions is 0", {"key": "k", "partitions": 0}),
        ("column of int", {"payload": "step"}),
        ("priority is a column of string: pass one of a whole number", {"priority": "k"}),
        ("run_at is a column of int: pass one of timestamp", {"run_at": "step"}),
        ("tags is a column of string: pass one of array<string>", {"tags": "k"}),
        ("dedup is a column of array<int>: pass one of one value", {"dedup": F.array("step")}),
        ('method is "copy"', {"method": "copy"}),
        ("partitions is 2.5", {"partitions": 2.5}),
        ("priority is 2147483648, which is out of range", {"priority": 2**31}),
        ("7 is no column", {"key": 7}),
    ):
        with pytest.raises(ValueError, match=message):
            enqueue(steps, dsn, "mail", **arguments)
    with pytest.raises(ValueError, match="is a stream: pass foreach_batch"):
        enqueue(steps.sparkSession.readStream.format("rate").load(), dsn, "mail")
    with pytest.raises(UnknownQueue, match='queue "nope" does not exist'):
        enqueue(steps, dsn, "nope")
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="run_id is empty"):
        enqueue(steps, dsn, "mail", run_id="")
    far = F.when(F.col("step") == 7, F.lit(2**31)).otherwise(F.col("step"))
    with pytest.raises(psycopg.errors.NumericValueOutOfRange, match='column "priority" holds'):
        enqueue(steps, dsn, "mail", priority=far)
    with pytest.raises(psycopg.errors.NullValueNotAllowed, match="payload"):
        enqueue(steps, dsn, "mail", payload=F.lit(None).cast("string"))
    with pytest.raises(KeyRequired, match="pass key"):
        enqueue(steps, dsn, "orders")
    assert jobs_in(conn) == 0


@pytest.mark.parametrize("key", [None, ""])
def test_a_fifo_row_without_key_refuses_them_all(
    steps: DataFrame, dsn: str, conn: Conn, queues: None, method: str, key: str | None
) -> None:
    some = F.when(F.col("step") % 100 == 0, F.lit(key)).otherwise(F.col("k"))
    with pytest.raises(KeyRequired, match="key"):
        enqueue(steps.withColumn("k", some), dsn, "orders", key="k")
    assert jobs_in(conn) == 0


def test_what_the_database_refuses_is_its_own_error_and_says_which_row(
    steps: DataFrame, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    for payload, kind, message in (
        ('"secret', psycopg.errors.InvalidTextRepresentation, 'column "payload" .* not JSON'),
        ('"secret\\u0000"', psycopg.errors.UntranslatableCharacter, 'column "payload" holds '),
        ('"secret\0"', psycopg.DataError, "NUL character"),
    ):
        with pytest.raises(kind, match=message) as refusal:
            enqueue(steps, dsn, "mail", payload=F.lit(payload))
        assert "row 1 of partition 0, payload '\"secret" in str(refusal.value)
        assert "\tat " not in str(refusal.value)
        assert refusal.value.__cause__ is None
    assert jobs_in(conn) == 0


@pytest.mark.parametrize("becomes", ["key", "dedup", "payload", "job_type"])
def test_texts_that_are_not_utf8_are_refused(
    spark: SparkSession, dsn: str, conn: Conn, queues: None, method: str, becomes: str
) -> None:
    """Java would send two such keys, or dedup ids, as the same."""
    df = spark.sql("select '1' as p, cast(X'22ff22' as string) as bad")
    with pytest.raises(psycopg.DataError, match="not UTF-8"):
        enqueue(df, dsn, "mail", **{"payload": "p", becomes: "bad"})
    assert jobs_in(conn) == 0


def test_a_session_serves_other_threads_too(
    steps: DataFrame, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(enqueue, steps, dsn, "mail").result().inserted == 3000


def test_a_database_without_pgbaton_is_said_so(steps: DataFrame, empty_dsn: str) -> None:
    with pytest.raises(IncompatibleServer, match="not installed"):
        enqueue(steps, empty_dsn, "mail")


def test_two_columns_of_one_name_need_a_choice(spark: SparkSession, dsn: str, queues: None) -> None:
    schema = StructType([StructField("a", IntegerType()), StructField("a", StringType())])
    with pytest.raises(ValueError, match="same name"):
        enqueue(spark.createDataFrame([(1, "x")], schema), dsn, "mail")


# The way in -------------------------------------------------------------------------------------
def test_overwrite_is_refused_and_loses_nothing(
    steps: DataFrame, dsn: str, conn: Conn, queues: None
) -> None:
    assert _jdbc.load_driver(steps.sparkSession) is None
    assert enqueue(steps, dsn, "mail").inserted == 3000
    target = _jdbc.Target.resolve(dsn)
    rows = job_rows(steps, Wanted(), 2, is_repeatable=False).withColumn("queue", F.lit("mail"))
    for truncate in ("false", "true"):
        writer = _jdbc._configured(rows.write.format("jdbc"), target).option("truncate", truncate)
        with pytest.raises(Exception, match="is not a table"):
            writer.option("dbtable", "pgbaton.enqueue_inbox").mode("overwrite").save()
    assert jobs_in(conn) == 3000
    assert enqueue(steps, dsn, "mail").inserted == 3000
    assert jobs_in(conn) == 6000


def test_a_producer_needs_no_other_role(
    steps: DataFrame, dsn: str, conn: Conn, drain: Drain, method: str
) -> None:
    role = f"tap_{conn.info.dbname}"
    conn.execute(f"create role {role} login password 'p' in role pgbaton_producer")
    try:
        theirs = make_conninfo(dsn, user=role, password="p")  # noqa: S106
        assert enqueue(steps, theirs, "orders", key="k").inserted == 3000
    finally:
        conn.execute(f"drop role {role}")
    assert len(drain("orders")) == 3000


def test_without_a_jar_one_line_says_so(
    steps: DataFrame,
    dsn: str,
    queues: None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(_jdbc, "load_driver", lambda session: "no driver here")
    assert enqueue(steps.limit(10), dsn, "mail").method == "datasource"
    assert capfd.readouterr().err == "pgbaton: enqueuing through the data source: no driver here\n"


def test_a_unix_socket_is_used_by_the_data_source(
    steps: DataFrame, conn: Conn, dsn: str, queues: None, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = conn.execute("show unix_socket_directories").fetchone()[0]
    done = enqueue(steps.limit(10), make_conninfo(dsn, host=folder), "mail")
    assert (done.inserted, done.method) == (10, "datasource")
    assert "JDBC cannot use a unix socket" in capfd.readouterr().err
    assert jobs_in(conn) == 10


def test_a_jar_that_is_named_and_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGBATON_JDBC_JAR", "/nowhere/postgresql.jar")
    with pytest.raises(ValueError, match=r"/nowhere/postgresql\.jar: no such file"):
        _jdbc.find_jar()
