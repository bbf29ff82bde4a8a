"""What is seen while a DataFrame is enqueued: Spark's stages, and nothing of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
from drivers import driver, enqueue_in_a_plain_session, until
from pyspark.sql import SparkSession
from test_exactly_once import gate, waiting

from pgbaton.spark import enqueue

Conn = psycopg.Connection[Any]


def test_nothing_of_ours_is_printed(
    spark: SparkSession, dsn: str, queues: None, method: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert enqueue(spark.range(10), dsn, "mail", method=method).inserted == 10
    assert capfd.readouterr() == ("", "")


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_spark_shows_its_stages_unless_told_otherwise(
    dsn: str, conn: Conn, queues: None, tmp_path: Path
) -> None:
    with driver(None, tmp_path) as found, gate(conn, "enqueue_ledger") as holder:
        work = found.start(enqueue_in_a_plain_session, dsn)
        until(lambda: waiting(conn, "advisory"), work)
        until(lambda: "[Stage" in found.log(), work)
        holder.close()
        work.result()
