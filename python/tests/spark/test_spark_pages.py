"""The examples of docs/spark.md and that of README.md run, and do what the pages say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pgbaton import Client, _assemble
from pgbaton.spark import enqueue

ROOT = _assemble.source_root()


def examples(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)


def test_the_example_of_the_readme(spark: SparkSession, dsn: str) -> None:
    [example] = [text for text in examples("README.md") if "spark" in text]
    with Client(dsn) as client:
        client.create_fifo_queue("flights")
        df = flights(spark).withColumn("dep_time", F.lit(1))
        names: dict[str, Any] = {"spark": spark, "dsn": dsn, "df": df}
        exec(example, names)  # noqa: S102
        assert (names["done"].inserted, names["done"].already) == (2, 0)
        [job] = client.claim_job_batch("worker", ["flights"])
        client.complete_job(job.id, None, job.lease_token)
        exec(example, names)  # noqa: S102
        assert (names["done"].inserted, names["done"].already) == (0, 2)
    assert sorted(job.payload) == ["carrier", "dest", "flight", "origin"]
    history: Any = names["history"]
    assert [row["singleton_key"] for row in history.collect()] == ["N1"]


def test_the_examples_of_the_guide(
    spark: SparkSession,
    dsn: str,
    conn: psycopg.Connection[Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (
        write, stream, for_each, compare, follow, work_off, ended, rows_after, after, inbox,
        by_stripe,
    ) = examples("docs/spark.md")  # fmt: skip
    for queue in ("flights", "orders"):
        conn.execute("select pgbaton.create_fifo_queue(%s)", [queue])
    conn.execute("select pgbaton.create_queue('mail')")
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "1.json").write_text('{"customer": "ann", "placed_at": 1}\n' * 3)
    orders = spark.readStream.schema("customer string, placed_at int").json(f"{tmp_path}/orders")

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        """Within the test: Spark's workers cannot import its module."""
        for batch in batches:
            yield batch[["id"]].assign(result='"done"', error=None)

    compared: list[tuple[int, int]] = []
    names: dict[str, Any] = {
        "spark": spark, "F": F, "dsn": dsn, "df": flights(spark), "orders": orders,
        "compare": lambda *frames: compared.append(tuple(frame.count() for frame in frames)),
        "work": work, "target": f"{tmp_path}/results",
    }  # fmt: skip

    exec(write, names)  # noqa: S102
    assert (names["done"].inserted, names["history"].count()) == (2, 0)

    exec(stream.replace("/data", str(tmp_path)), names)  # noqa: S102
    names["stream"].processAllAvailable()
    names["stream"].stop()
    assert live(conn, "orders") == 3

    exec(f"written = {for_each}", names)  # noqa: S102
    written = names["written"].option("checkpointLocation", f"{tmp_path}/other").start()
    with pytest.raises(StreamingQueryException, match="needs another stream_id"):
        written.processAllAvailable()
    assert live(conn, "orders") == 3

    exec(compare, names)  # noqa: S102
    assert compared == [(0, 2)]

    exec(work_off, names)  # noqa: S102
    assert spark.read.parquet(names["target"]).count() == 1
    states = "select state::text from pgbaton.jobs where queue = 'flights' order by id"
    assert [state for (state,) in conn.execute(states)] == ["completed", "pending"]

    exec(follow, names)  # noqa: S102
    read = names["ended"].writeStream.format("memory").queryName("ended").start()
    read.processAllAvailable()
    read.stop()
    assert spark.table("ended").count() == 1

    conn.execute(
        "select pgbaton.fail_job(id, 'fog', lease_token, false)"
        " from pgbaton.claim_job_batch('w', '{flights}')"
    )
    exec(ended, names)  # noqa: S102
    assert [row["last_error"] for row in names["failed"].collect()] == ["fog"]
    assert "\nflights 2 1 1 0:00:" in capsys.readouterr().out

    conn.execute("select pgbaton.create_queue('reports')")
    names["done"] = enqueue(flights(spark), dsn, "flights", key="tailnum")
    exec(rows_after, names)  # noqa: S102
    ids = "select count(*) from pgbaton.job_edge"
    assert waiting_jobs(conn, "reports") == [("pending", {"tailnum": "N1"})]
    assert conn.execute(ids).fetchone() == (2,)
    conn.execute(
        "select pgbaton.cancel_jobs(job_ids => array_agg(id))"
        " from pgbaton.live_jobs where queue = 'reports'"
    )

    exec(after, names)  # noqa: S102
    assert conn.execute(ids).fetchone() == (4,)
    [report] = waiting_jobs(conn, "reports")
    assert report == ("pending", {"run": names["done"].run_id})
    exec(after, names)  # noqa: S102
    assert waiting_jobs(conn, "reports") == [report]

    exec(inbox, names)  # noqa: S102
    assert live(conn, "mail") == 2

    names["keyed"] = spark.range(100).selectExpr("id as n", "concat('k', id) as singleton_key")
    exec(by_stripe, names)  # noqa: S102
    parts = names["orders"].select("stripe", F.spark_partition_id().alias("part")).collect()
    assert all(row["part"] == row["stripe"] * 8 >> 8 for row in parts)
    assert len(parts) == 100


def flights(spark: SparkSession) -> Any:
    """Two flights of one aircraft, later ones first."""
    rows = [("N1", 2, "UA", 17, "EWR", "ORD"), ("N1", 1, "UA", 16, "ORD", "EWR")]
    return spark.createDataFrame(rows, "tailnum string, departure int, carrier string, flight int, "
                                       "origin string, dest string")  # fmt: skip


def waiting_jobs(conn: psycopg.Connection[Any], queue: str) -> list[tuple[str, Any]]:
    return conn.execute(
        "select state::text, payload from pgbaton.live_jobs where queue = %s", [queue]
    ).fetchall()


def live(conn: psycopg.Connection[Any], queue: str) -> int:
    [[count]] = conn.execute(
        "select count(*) from pgbaton.live_jobs where queue = %s", [queue]
    ).fetchall()
    return int(count)
