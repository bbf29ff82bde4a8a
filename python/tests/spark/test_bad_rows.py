"""Which row was bad, and rows that are put aside."""

from __future__ import annotations

import re
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pgbaton.errors import PayloadTooLarge, UnknownQueue
from pgbaton.spark import _enqueue, enqueue, foreach_batch, register

Conn = psycopg.Connection[Any]
# What PostgreSQL takes and Spark has doubts about, or the other way round.
FINE = ['{"a": 1, "a": 2}', r'"\\u0000"', '"\\ud83d\\ude00"', "1e1000", " [1, 2] ", "null"]
BAD = [
    '{"bad": ',
    '"\\u0000"',
    '"\\ud800"',
    "1e200000",
    "{'a': 1}",
    "[1] 2",
    "NaN",
    "01",
    "",
    "1, 2",
    "1}",
    "1]",
]


@pytest.fixture
def aside(conn: Conn, queues: None) -> str:
    conn.execute("select pgbaton.create_queue('aside')")
    return "aside"


def rows(spark: SparkSession, bad: dict[int, str]) -> DataFrame:
    """300 rows of 7 keys, with these payloads at these numbers."""
    payloads = [(n, f"k{n % 7}", bad.get(n, f'{{"n": {n}}}')) for n in range(300)]
    return spark.createDataFrame(payloads, "n int, k string, p string")


def payloads(conn: Conn, queue: str) -> list[Any]:
    found = conn.execute(
        "select payload from pgbaton.live_jobs where queue = %s order by id", [queue]
    )
    return [payload for (payload,) in found]


def test_it_is_said_which_row_and_nothing_was_committed(
    spark: SparkSession, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    df = rows(spark, {250: '{"bad": …, ' + "x" * 100})
    with pytest.raises(psycopg.errors.InvalidTextRepresentation) as refusal:
        enqueue(df, dsn, "orders", key="k", order_by="n", payload="p", partitions=3)
    said = str(refusal.value)
    assert re.search(r"row \d+ of partition [012], key 'k5', payload '\{\"bad\": …, x+…'", said)
    assert payloads(conn, "orders") == []


def test_other_columns_too(
    spark: SparkSession, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    given = {name: name for name in ("key", "payload", "dedup", "job_type")}
    for name, bad, message in (
        ("payload", None, "payload.* null"),
        ("key", "", "key"),
        ("dedup", "\0", "NUL"),
        ("job_type", "a\0", "NUL"),
    ):
        df = spark.range(0, 50, 1, 1).selectExpr(
            "id as n", "'k' as key", "'1' as payload", "concat('d', id) as dedup", "'t' as job_type"
        )
        df = df.withColumn(name, F.when(F.col("n") == 30, F.lit(bad)).otherwise(F.col(name)))
        with pytest.raises(psycopg.Error, match=f"(?s){message}.*row \\d+ of partition 0"):
            enqueue(df, dsn, "orders", order_by="n", partitions=1, method=method, **given)
    assert payloads(conn, "orders") == []


# What only the database refuses: an expression for the bad row and one for all others.
REFUSED = [
    ("priority", "3000000000", "100", "out of range for an integer"),
    ("priority", "null", "100", "priorities has a null entry"),
    ("job_type", "repeat('x', 256)", "'t'", "job_type is above 255 bytes"),
    ("job_type", "null", "'t'", "job_types has a null entry"),
    ("tags", "array('a', null)", "array('a')", "holds a null"),
    ("tags", "array('a', '')", "array('a')", "tag 2 is empty"),
    ("tags", "transform(sequence(1, 9), n -> repeat(n, 200))", "array('a')", "together are above"),
    ("tags", "null", "array('a')", "tags has a null entry"),
    ("run_at", "timestamp'+12345-01-01 00:00:00'", "timestamp'1850-01-01 00:00:00'", "1 to 9999"),
    ("dedup_id", "''", "concat('d', n)", "dedup_id is empty or longer"),
    ("dedup_id", "repeat('d', 1025)", "concat('d', n)", "dedup_id is empty or longer"),
    ("singleton_key", "repeat('k', 1025)", "'k'", "singleton_key is empty or longer"),
    ("singleton_key", "''", "'k'", "singleton_key is empty or longer"),
    ("after", "array(null, 1L)", "cast(array() as array<bigint>)", "after holds a null"),
    ("on_failed", "'stop'", "cast(null as string)", "on_failed is 'stop'"),
    ("on_failed", "'run'", "cast(null as string)", "without after"),
    ("payload", "concat(repeat('[', 600), repeat(']', 600))", "'{}'", "nested deeper than 500"),
]


def odd_rows(spark: SparkSession) -> DataFrame:
    """A row that is bad in each of these ways, and good ones between."""
    columns = dict.fromkeys((name for name, *_ in REFUSED), "")
    for number, (name, bad, good, _) in enumerate(REFUSED):
        columns[name] = f"if(n = {2 * number}, {bad}, {columns[name] or good})"
    rows = spark.range(0, 2 * len(REFUSED), 1, 2).withColumnRenamed("id", "n")
    return rows.select("n", *(F.expr(text).alias(name) for name, text in columns.items()))


def test_all_that_the_database_refuses_goes_aside_with_its_reason(
    spark: SparkSession, dsn: str, conn: Conn, aside: str
) -> None:
    register(spark)
    writer = odd_rows(spark).drop("n").write.format("pgbaton").mode("append")
    options = {"on_bad_rows": "aside", "bad_rows_queue": aside}
    writer.options(dsn=dsn, queue="mail", **options).save()
    reasons = [found["reason"] for found in payloads(conn, aside)]
    assert len(payloads(conn, "mail")) == len(reasons) == len(REFUSED)
    for *_, message in REFUSED:
        assert any(message in reason for reason in reasons), message


def test_jdbc_has_them_judged_before_the_first_commit(
    spark: SparkSession, dsn: str, conn: Conn, queues: None
) -> None:
    rows = odd_rows(spark)
    doubts = reduce(or_, _enqueue._doubts(rows, is_text=True))
    numbers = sorted(n for (n,) in rows.where(doubts).select("n").collect())
    assert numbers == [2 * n for n in range(len(REFUSED) - 1)]  # a deep one is found when written
    given: dict[str, Any] = {
        "payload": "payload", "key": "k", "method": "jdbc", "partitions": 2,
    }  # fmt: skip
    for name, said in (
        ("run_at", "1 to 9999"),
        ("dedup", "dedup_id is empty"),
        ("payload", "deep"),
    ):
        df = rows.selectExpr(
            "'{}' as payload", "n", "concat('k', n) k", f"{name.replace('dedup', 'dedup_id')} as x"
        )
        with pytest.raises(psycopg.Error, match=f"(?s){said}.*row \\d+ of partition [01], key 'k"):
            enqueue(df, dsn, "orders", **{**given, name: "x"})
        assert name == "payload" or payloads(conn, "orders") == []


def test_more_rows_of_which_spark_has_doubts_than_are_looked_at_at_once(
    spark: SparkSession, dsn: str, conn: Conn, queues: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_enqueue, "MOST_DOUBTFUL", 2)
    fine = spark.range(7).select(F.lit("1e1000").alias("p"))
    assert enqueue(fine, dsn, "mail", payload="p", method="jdbc").inserted == 7
    one_bad = fine.coalesce(1).union(spark.createDataFrame([("1e4000",)], "p string"))
    with pytest.raises(PayloadTooLarge, match="row 8 of partition 0, payload '1e4000'"):
        enqueue(one_bad, dsn, "mail", payload="p", method="jdbc", partitions=1)
    assert len(payloads(conn, "mail")) == 7


def test_half_of_an_escaped_pair_is_found_among_whole_ones(
    spark: SparkSession, dsn: str, conn: Conn, queues: None
) -> None:
    pair, first, second = r"\ud83d\ude00", r"\uD83D", r"\uDE00"
    for odd in (f"{second}{first}", f"{first}{pair}", f"{pair}{second}", rf"\\ud83d{second}"):
        df = spark.createDataFrame([(f'"{pair}"',), (f'"{odd}"',)], "p string").coalesce(1)
        with pytest.raises(psycopg.DataError, match="row 2 of partition 0"):
            enqueue(df, dsn, "mail", payload="p", method="jdbc", partitions=1)
    texts = [f'"{pair}{pair}"', r'"\\ud83d"', r'"\\\ud83d\ude00"']
    df = spark.createDataFrame([(text,) for text in texts], "p string")
    assert enqueue(df, dsn, "mail", payload="p", method="jdbc").inserted == 3


def test_spark_and_the_database_need_not_agree_about_json(
    spark: SparkSession, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    fine = spark.createDataFrame([(text,) for text in FINE], "p string")
    assert enqueue(fine, dsn, "mail", payload="p").inserted == len(FINE)
    for text in BAD:
        with pytest.raises(psycopg.DataError, match="row 2 of partition 0"):
            enqueue(
                spark.createDataFrame([("1",), (text,)], "p string").coalesce(1),
                dsn, "mail", payload="p", partitions=1,
            )  # fmt: skip
    assert len(payloads(conn, "mail")) == len(FINE)


def test_bad_rows_go_aside_and_the_others_in_once(
    spark: SparkSession, dsn: str, conn: Conn, aside: str
) -> None:
    bad = {0: "{", 1: "\0", 149: '"\\u0000"', 299: "…"}
    df = rows(spark, bad).withColumn("k", F.when(F.col("n") != 200, F.col("k")))
    for again in (False, True):
        done = enqueue(
            df, dsn, "orders", key="k", order_by="n", payload="p", run_id="r",
            partitions=2, on_bad_rows="aside", bad_rows_queue=aside,
        )  # fmt: skip
        assert (done.inserted, done.already, done.aside) == ((0, 295, 0) if again else (295, 0, 5))
        assert done.method == "datasource"
    numbers = [payload["n"] for payload in payloads(conn, "orders")]
    assert sorted(numbers) == [n for n in range(300) if n not in bad and n != 200]
    found = {each["columns"]["payload"]: each for each in payloads(conn, aside)}
    assert set(found) == {"{", "\\0", '"\\u0000"', "…", '{"n": 200}'}
    assert found["{"]["columns"]["singleton_key"] == "k0"
    assert "not JSON" in found["{"]["reason"]
    assert (found["{"]["queue"], found["{"]["run_id"]) == ("orders", "r")
    assert found['{"n": 200}']["sqlstate"] == "PB005"
    keys = conn.execute(
        "select j.singleton_key, array_agg((j.payload ->> 'n')::int order by s.key_position, j.id)"
        " from pgbaton.live_jobs as j join pgbaton.span as s on s.lo = j.range_id"
        " where j.queue = 'orders' group by 1"
    )
    assert all(numbers == sorted(numbers) for _, numbers in keys)


REJECTS = (
    "create table public.rejects (at timestamptz default now(), queue text, run_id text,"
    " reason text, sqlstate text, partition integer, row bigint, columns jsonb)"
)


def rejects(conn: Conn) -> list[tuple[Any, ...]]:
    return conn.execute(
        "select columns ->> 'payload', queue, run_id, sqlstate from public.rejects order by 1, 3"
    ).fetchall()


def test_bad_rows_go_into_a_table_with_the_jobs_and_once(
    spark: SparkSession, dsn: str, conn: Conn, queues: None
) -> None:
    conn.execute(REJECTS)
    options: dict[str, Any] = {
        "payload": "p", "on_bad_rows": "aside", "bad_rows_table": "public.rejects",
    }  # fmt: skip
    some = rows(spark, {7: "{", 8: "NaN"})
    for partitions in (3, 2):
        done = enqueue(some, dsn, "mail", run_id="r", partitions=partitions, **options)
        expected = (298, 0, 2) if partitions == 3 else (0, 298, 0)
        assert (done.inserted, done.already, done.aside) == expected
    assert rejects(conn) == [(bad, "mail", "r", "22P02") for bad in ("NaN", "{")]
    conn.execute("delete from public.rejects")
    assert enqueue(some, dsn, "mail", run_id="r", **options).aside == 0, "its jobs are there"
    # Of a run without jobs the table is all there is to know it by.
    for aside in (300, 0):
        none = rows(spark, dict.fromkeys(range(300), "{"))
        assert enqueue(none, dsn, "mail", run_id="all", **options).aside == aside
    assert len(rejects(conn)) == 300
    assert len(payloads(conn, "mail")) == 298
    row = conn.execute("select partition, row, reason from public.rejects limit 1").fetchone()
    assert row[2] == 'column "payload" holds text that is not JSON'
    assert row[1] >= 1


def test_nothing_is_put_into_a_table_when_the_run_fails(
    spark: SparkSession, dsn: str, conn: Conn, queues: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"payload": "p", "on_bad_rows": "aside"}
    some = rows(spark, {7: "{"})
    with pytest.raises(psycopg.errors.UndefinedTable, match=r"public\.rejects"):
        enqueue(some, dsn, "mail", bad_rows_table="public.rejects", **options)
    conn.execute(REJECTS)
    conn.execute(
        "create function public.refuse() returns trigger language plpgsql as"
        " $$begin raise exception 'not now'; end$$;"
        "create trigger refuse before insert on public.rejects"
        " for each row execute function public.refuse()"
    )
    with pytest.raises(psycopg.Error, match="not now"):
        enqueue(some, dsn, "mail", bad_rows_table="public.rejects", **options)
    conn.execute("drop trigger refuse on public.rejects")
    large = spark.range(0, 1800, 1, 1).selectExpr("repeat('x', 10000) as p")
    with pytest.raises(psycopg.Error, match="longer than 16,777,216 characters"):
        enqueue(large, dsn, "mail", bad_rows_table="public.rejects", **options)
    assert rejects(conn) == []
    assert payloads(conn, "mail") == []


def test_all_rows_bad_and_none(spark: SparkSession, dsn: str, conn: Conn, aside: str) -> None:
    options: dict[str, Any] = {"on_bad_rows": "aside", "bad_rows_queue": aside, "payload": "p"}
    done = enqueue(rows(spark, dict.fromkeys(range(300), "{")), dsn, "mail", **options)
    assert (done.inserted, done.aside) == (0, 300)
    done = enqueue(rows(spark, {}), dsn, "mail", **options)
    assert (done.inserted, done.aside) == (300, 0)
    assert (len(payloads(conn, "mail")), len(payloads(conn, aside))) == (300, 300)


def test_a_stream_puts_bad_rows_aside(
    spark: SparkSession, dsn: str, conn: Conn, aside: str, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_text('{"n": 1}\n{bad\n{"n": 2}\n')
    lines = spark.readStream.text(str(tmp_path / "in"))
    register(spark)
    by_format = lines.selectExpr("value as payload").writeStream.format("pgbaton")
    by_format = by_format.options(dsn=dsn, queue="mail", stream_id="a", on_bad_rows="aside")
    by_batch = lines.writeStream.foreachBatch(
        foreach_batch("mail", dsn, "b", payload="value", on_bad_rows="aside", bad_rows_queue=aside)
    )
    for name, writer in (("a", by_format.option("bad_rows_queue", aside)), ("b", by_batch)):
        writer = writer.option("checkpointLocation", str(tmp_path / name))
        writer.trigger(availableNow=True).start().awaitTermination()
    assert [payload["n"] for payload in payloads(conn, "mail")] == [1, 2, 1, 2]
    put_aside = [(each["columns"]["payload"], each["run_id"]) for each in payloads(conn, aside)]
    assert put_aside == [("{bad", "a"), ("{bad", "b:0")]

    # Into a table: each batch is a run.
    conn.execute(REJECTS)
    into: dict[str, str] = {"on_bad_rows": "aside", "bad_rows_table": "rejects"}
    by_format = lines.selectExpr("value as payload").writeStream.format("pgbaton")
    by_format = by_format.options(dsn=dsn, queue="mail", stream_id="d", **into)
    by_batch = lines.writeStream.foreachBatch(
        foreach_batch("mail", dsn, "c", payload="value", **into)
    )
    for name, writer in (("c", by_batch), ("d", by_format)):
        writer = writer.option("checkpointLocation", str(tmp_path / name))
        writer.trigger(availableNow=True).start().awaitTermination()
    assert rejects(conn) == [("{bad", "mail", run, "22P02") for run in ("c:0", "d:0")]


def test_what_is_wrong_with_where_they_go(
    spark: SparkSession, dsn: str, conn: Conn, aside: str
) -> None:
    df = rows(spark, {})
    for kind, message, options in (
        (ValueError, "needs method", {"bad_rows_queue": aside, "method": "jdbc"}),
        (ValueError, "aside", {}),
        (ValueError, "a queue or a table", {"bad_rows_queue": aside, "bad_rows_table": "t"}),
        (ValueError, "aside", {"bad_rows_queue": aside, "on_bad_rows": "drop"}),
        (UnknownQueue, "nope", {"bad_rows_queue": "nope"}),
        (Exception, "needs bad_rows_queue, another queue", {"bad_rows_queue": "mail"}),
        (Exception, "is a FIFO queue, and bad rows", {"bad_rows_queue": "orders"}),
    ):
        with pytest.raises(kind, match=message):
            enqueue(df, dsn, "mail", payload="p", **{"on_bad_rows": "aside", **options})
    assert payloads(conn, "mail") == payloads(conn, aside) == []
