"""What becomes of a run: who waits for it gets an outcome for each row, and a report on the way."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from pyspark.sql import SparkSession

from pgbaton import _assemble
from pgbaton.spark import ErrorCount, _runs, enqueue, outcomes, run_report, wait

Conn = psycopg.Connection[Any]


def work_off(conn: Conn, queue: str, most: int = 1000) -> None:
    """Jobs whose n can be divided by ten fail, the others are completed with it."""
    jobs = conn.execute(
        "select id, (payload ->> 'n')::int, lease_token"
        " from pgbaton.claim_job_batch('w', array[%s], batch_size => %s)",
        [queue, most],
    ).fetchall()
    for job_id, n, token in jobs:
        if n % 10 == 0:
            conn.execute("select pgbaton.fail_job(%s, 'tenth', %s, false)", [job_id, token])
        else:
            conn.execute(
                "select pgbaton.complete_job(%s, to_jsonb(%s::int), %s)", [job_id, n, token]
            )


def test_a_report_and_outcomes_of_a_run(
    spark: SparkSession, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    rows = spark.range(0, 200, 1, 4).selectExpr("id as n", "concat('k', id % 20) as k")
    enqueue(spark.range(50).selectExpr("id as n"), dsn, "mail", method=method)
    done = enqueue(rows, dsn, "mail", key="k", run_id="night", partitions=3, method=method)
    [report] = run_report(dsn, done.run_id)
    assert (report.queue, report.enqueued, report.waiting) == ("mail", 200, 200)
    assert (report.p95, report.errors) == (None, [])
    with pytest.raises(TimeoutError, match='200 jobs of run "night" wait or run'):
        wait(spark, dsn, "night", timeout=timedelta(0))
    assert outcomes(spark, dsn, "night").where("state = 'pending'").count() == 200
    work_off(conn, "mail")
    ended = wait(spark, dsn, "night", timeout=timedelta(0), partitions=2)
    assert ended.rdd.getNumPartitions() <= 2
    found = ended.selectExpr(
        "get_json_object(payload, '$.n') as n", "singleton_key", "state", "last_error", "result",
        "ended_at >= claimed_at as is_in_order", "queue", "part",
    ).collect()  # fmt: skip
    assert len({row["n"] for row in found}) == len(found) == 200
    for row in found:
        failed = int(row["n"]) % 10 == 0
        assert row["singleton_key"] == f"k{int(row['n']) % 20}"
        assert row["state"] == ("failed" if failed else "completed")
        assert row["last_error"] == ("tenth" if failed else None)
        assert row["result"] == (None if failed else row["n"])
        assert row["is_in_order"]
        assert row["queue"] == "mail"
    assert {row["part"] for row in found} == ({0, 1, 2} if method == "jdbc" else {0})
    [report] = run_report(dsn, "night")
    assert (report.waiting, report.failed, report.completed) == (0, 20, 180)
    assert report.errors == [ErrorCount("tenth", 20)]
    assert report.p95 is not None
    assert timedelta(0) < report.p95 < timedelta(minutes=10)
    # A later action reads what is true then.
    conn.execute("select pgbaton.retry_jobs('mail')")
    assert ended.where("ended_at is null").count() == 20


def test_limits_hold_for_what_spark_enqueues_and_a_job_waits_for_a_run(
    spark: SparkSession, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    """As docs/spark.md says."""
    text = (_assemble.source_root() / "docs" / "spark.md").read_text("utf-8")
    [after_run] = re.findall(r'AFTER_RUN = """(.*?)"""', text, re.DOTALL)
    conn.execute("select pgbaton.create_queue('reports')")
    conn.execute("select pgbaton.set_queue_limits('mail', max_running => 3)")
    rows = spark.range(0, 7, 1, 3).selectExpr("id + 1 as n")
    done = enqueue(rows, dsn, "mail", run_id="limited", method=method)
    [[job_id]] = conn.execute(after_run, [done.run_id]).fetchall()
    assert conn.execute(after_run, [done.run_id]).fetchall() == [(job_id,)]
    claim = "select id, lease_token from pgbaton.claim_job_batch('w', array[%s], batch_size => 100)"
    for allowed in (3, 3, 1):
        assert conn.execute(claim, ["reports"]).fetchall() == []
        jobs = conn.execute(claim, ["mail"]).fetchall()
        assert len(jobs) == allowed
        assert conn.execute(claim, ["mail"]).fetchall() == []
        for job in jobs:
            conn.execute("select pgbaton.complete_job(%s, lease_token => %s)", job)
    assert [id for id, _ in conn.execute(claim, ["reports"])] == [job_id]


def test_a_run_of_a_fifo_queue_is_waited_for_until_its_last_job(
    spark: SparkSession, dsn: str, conn: Conn, queues: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker begins when the driver pauses for the first time."""
    rows = spark.range(1, 30).selectExpr("if(id % 10 = 0, 1, id) as n", "concat('k', id % 3) as k")
    done = enqueue(rows, dsn, "orders", key="k", order_by="n")
    with worker_at_first_pause(conn, monkeypatch) as pauses:
        outcomes = wait(spark, dsn, done.run_id, timeout=timedelta(minutes=2))
    assert pauses
    assert outcomes.where("state = 'completed'").count() == 29


@contextmanager
def worker_at_first_pause(conn: Conn, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    pauses: list[float] = []
    real_sleep = _runs.time.sleep
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        assert begun.wait(120)
        for _ in range(29):
            work_off(conn, "orders")
        ended.set()

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        begun.set()
        real_sleep(seconds)

    monkeypatch.setattr(_runs.time, "sleep", pause)
    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    yield pauses
    assert ended.wait(120)


def test_runs_that_are_not_there_or_have_no_rows(
    spark: SparkSession, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    enqueue(spark.range(0).selectExpr("id as n"), dsn, "mail", run_id="none", method=method)
    assert run_report(dsn, "none") == []
    assert wait(spark, dsn, "none").count() == 0
    for call in (lambda: run_report(dsn, "no"), lambda: wait(spark, dsn, "no")):
        with pytest.raises(psycopg.errors.UndefinedObject, match='there is no run "no"'):
            call()
    with pytest.raises(ValueError, match="partitions is 0"):
        wait(spark, dsn, "none", partitions=0)


def test_a_producer_needs_no_other_role(
    spark: SparkSession, dsn: str, conn: Conn, queues: None
) -> None:
    role = f"tap_{conn.info.dbname}"
    conn.execute(f"create role {role} login password 'p' in role pgbaton_producer")
    try:
        mine = make_conninfo(dsn, user=role, password="p")  # noqa: S106
        enqueue(spark.range(1, 5).selectExpr("id as n"), mine, "mail", run_id="r")
        work_off(conn, "mail")
        assert wait(spark, mine, "r").count() == 4
        assert run_report(mine, "r")[0].completed == 4
    finally:
        conn.execute(f"drop role {role}")
