"""What a session of Spark, a role or a database may have set changes no answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from pyspark.sql import DataFrame, SparkSession

from pgbaton.spark import claim, enqueue, outcomes, read_history, register, run_report

Conn = psycopg.Connection[Any]
OF_DATABASES = {
    "intervalstyle": "iso_8601",
    "datestyle": "SQL, DMY",
    "timezone": "Asia/Kathmandu",
    "array_nulls": "off",
    "client_encoding": "latin1",
    "standard_conforming_strings": "off",
    "bytea_output": "escape",
    "search_path": "nowhere",
    "default_transaction_isolation": "serializable",
}
OF_SPARK: list[dict[str, str]] = [
    {},
    {
        "spark.sql.execution.arrow.useLargeVarTypes": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "3",
    },
    {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.legacy.sizeOfNull": "true",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
    },
    {
        "spark.sql.caseSensitive": "true",
        "spark.sql.session.timeZone": "+05:30",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",
        "spark.sql.jsonGenerator.ignoreNullFields": "true",
        "spark.sql.datetime.java8API.enabled": "true",
    },
]


@pytest.fixture
def hostile(conn: Conn, queues: None) -> None:
    for name, value in OF_DATABASES.items():
        conn.execute(
            sql.SQL("alter database {} set {} to {}").format(
                sql.Identifier(conn.info.dbname),
                sql.Identifier(name),
                sql.SQL(value) if name == "datestyle" else sql.Literal(value),
            )
        )


def rows(spark: SparkSession) -> DataFrame:
    """20 rows of 5 keys, of all types that a payload may have."""
    return spark.range(0, 20, 1, 2).selectExpr(
        "id as n", "concat('ä', id % 5) as key", "if(id % 2 = 0, 'Ω', null) as text",
        "timestamp_ltz'1850-03-04 05:06:07.000001Z' as at", "date'0001-01-02' as day",
        "timestamp_ntz'1850-03-04 05:06:07' as local",
        "cast('12345678901234567890.12345678' as decimal(28, 8)) as number",
        "9007199254740993 as large", "map('k', named_struct('x', array(null, 1))) as nested",
        "cast('x' as binary) as bytes", "array('a b', 'Ω') as tags",
    )  # fmt: skip


def values(conn: Conn, queue: str) -> list[tuple[Any, ...]]:
    found = conn.execute(
        "select (payload - 'n')::text, (payload ->> 'n')::int, singleton_key, tags, run_at"
        " from pgbaton.live_jobs where queue = %s order by 2",
        [queue],
    )
    return found.fetchall()


def written(spark: SparkSession, dsn: str, queue: str) -> None:
    """The same through the data source itself, in another order of columns and case."""
    register(spark)
    rows(spark).selectExpr(
        "tags", "key as Singleton_Key", "struct(*) as PAYLOAD", "at as run_at",
        "concat('d', if(n = 0, null, n)) as dedup_id", "if(n = 0, null, n) as order_no",
    ).write.format("pgbaton").mode("append").options(dsn=dsn, queue=queue).save()  # fmt: skip


def test_what_a_database_has_set_changes_nothing(
    spark: SparkSession, dsn: str, conn: Conn, hostile: None, method: str
) -> None:
    df = rows(spark)
    given = {"key": "key", "order_by": "n", "tags": "tags", "run_at": "at", "partitions": 2}
    done = enqueue(df, dsn, "orders", run_id="r", method=method, **given)
    assert done.inserted == 20
    if method == "datasource":
        written(spark, dsn, "mail")
        assert values(conn, "mail") == values(conn, "orders")
        null_keys = df.selectExpr("'1' as payload", "text as singleton_key", "text as dedup_id")
        null_keys.write.format("pgbaton").mode("append").options(dsn=dsn, queue="mail").save()
        keys = (
            "select singleton_key, count(*) from pgbaton.live_jobs where payload = '1' group by 1"
        )
        assert dict(conn.execute(keys).fetchall()) == {None: 10, "Ω": 1}
    (text, _, key, tags, run_at), *_ = values(conn, "orders")
    assert '"at": "1850-03-04T05:06:07.000001Z"' in text
    assert '"text": "Ω"' in text
    assert '"number": 12345678901234567890.12345678' in text
    assert '"large": 9007199254740993' in text
    assert (key, tags, run_at.year) == ("ä0", ["a b", "Ω"], 1850)
    with claim(spark, dsn, "orders", 5, partitions=2) as held:
        assert held.ack(held.jobs.where("singleton_key > 'ä1'").select("id")).done == 3
        some = held.jobs.selectExpr("id", "if(singleton_key = 'ä0', '\"Ω\"', null) as result")
        assert held.ack(some).done == 2
    [report] = run_report(dsn, "r")
    assert (report.completed, report.waiting) == (5, 15)
    assert report.p95 is not None
    for ended in (read_history(spark, dsn, "orders"), outcomes(spark, dsn, "r")):
        results = [row["result"] for row in ended.where("state = 'completed'").collect()]
        assert sorted(results, key=str) == ['"Ω"', None, None, None, None]


@pytest.fixture
def set_in_spark(spark: SparkSession) -> Iterator[Callable[[dict[str, str]], None]]:
    before = {name: spark.conf.get(name) for settings in OF_SPARK for name in settings}

    def change(settings: dict[str, str]) -> None:
        for name, value in {**before, **settings}.items():
            spark.conf.set(name, value)

    yield change
    change({})


def test_what_a_session_has_set_changes_nothing(
    spark: SparkSession,
    dsn: str,
    conn: Conn,
    queues: None,
    set_in_spark: Callable[[dict[str, str]], None],
) -> None:
    register(spark)
    found = []
    for number, settings in enumerate(OF_SPARK):
        set_in_spark(settings)
        for way in ("jdbc", "datasource", "format"):
            conn.execute("select pgbaton.create_fifo_queue(%s)", [f"{way}{number}"])
            if way == "format":
                written(spark, dsn, f"{way}{number}")
            else:
                given = {"order_by": "n", "tags": "tags", "run_at": "at", "partitions": 2}
                enqueue(rows(spark), dsn, f"{way}{number}", key="key", method=way, **given)
            read = spark.read.format("pgbaton").options(dsn=dsn, jobs="live", partitions=2)
            some = read.load().where(f"queue = '{way}{number}'")
            texts = some.selectExpr("max(string(double(run_at)))", "max(payload)", "max(tags)")
            found.append((values(conn, f"{way}{number}"), texts.first()))
    assert all(each == found[0] for each in found)
