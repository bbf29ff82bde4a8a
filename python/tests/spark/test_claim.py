"""Jobs are claimed once, worked off by tasks, and settled all or none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pgbaton.errors import UnknownQueue
from pgbaton.spark import Settled, _claim, claim
from pgbaton.spark._claim import Claim, _buckets

Conn = psycopg.Connection[Any]


@pytest.fixture
def jobs(conn: Conn, queues: None) -> None:
    """100 jobs in mail; in orders 3 of each of 10 keys."""
    conn.execute(
        "select pgbaton.enqueue_batch('mail',"
        " array(select jsonb_build_object('n', n) from generate_series(1, 100) as n))"
    )
    conn.execute(
        "select pgbaton.enqueue_batch('orders', array_fill('{}'::jsonb, array[30]),"
        " array(select 'k' || n % 10 from generate_series(1, 30) as n))"
    )


def states(conn: Conn, queue: str) -> dict[str, int]:
    return dict(
        conn.execute(
            "select state::text, count(*) from pgbaton.jobs where queue = %s group by 1", [queue]
        ).fetchall()
    )


def test_every_action_reads_the_same_jobs_and_ack_completes_them(
    spark: SparkSession, dsn: str, conn: Conn, jobs: None
) -> None:
    with claim(spark, dsn, "mail", 60, partitions=3) as held:
        assert len(held) == held.jobs.count() == 60
        assert states(conn, "mail") == {"active": 60, "pending": 40}
        done = held.jobs.select("id", F.create_map(F.lit("was"), "payload").alias("result"))
        assert held.ack(done.where("id % 2 = 0").repartition(5)) == Settled(30, 0, 0)
        assert held.ack(done.where("id % 2 = 0")) == Settled(0, 0, 0), "they are gone"
        assert len(held.open_ids) == 30
    assert states(conn, "mail") == {"completed": 30, "retry": 30, "pending": 40}
    attempts = conn.execute("select sum(attempt) from pgbaton.live_jobs").fetchone()
    assert attempts == (0,), "what was not settled is given back, and counts as no attempt"
    rows = conn.execute("select payload, result from pgbaton.finished_jobs").fetchall()
    assert all(result == {"was": str(payload).replace("'", '"')} for payload, result in rows)


def test_an_ack_is_repeated_without_harm_and_belongs_to_the_claim(
    spark: SparkSession, dsn: str, conn: Conn, jobs: None
) -> None:
    with claim(spark, dsn, ["mail"], 10) as held:
        ids = spark.createDataFrame([(job_id,) for job_id in held.open_ids], "id long")
        conn.execute("select pgbaton.reset_running_jobs('mail')")
        conn.execute("select * from pgbaton.claim_job_batch('thief', '{mail}', batch_size => 4)")
        taken = held.ack(ids)
        assert (taken.done, taken.lost) == (0, 10), "none is ours any more"
        assert held.open_ids == frozenset()
    with claim(spark, dsn, "mail", 10) as held:
        ids = spark.createDataFrame([(job_id,) for job_id in held.open_ids], "id long")
        assert held.ack(ids.union(ids)) == Settled(10, 0, 0)
        assert held.ack(ids) == Settled(0, 10, 0)


def test_a_failed_action_settles_nothing(
    spark: SparkSession, dsn: str, conn: Conn, jobs: None
) -> None:
    with claim(spark, dsn, "mail", 100, partitions=4) as held:
        last = max(held.open_ids)

        def work(batches: Any) -> Any:
            for batch in batches:
                if last in batch.column("id").to_pylist():
                    raise RuntimeError("boom")
                yield batch.select(["id"])

        with pytest.raises(Exception, match="boom"):
            held.ack(held.jobs.mapInArrow(work, "id long"))
        assert states(conn, "mail") == {"active": 100}
        # Nor one that the database refuses in its last row.
        result = F.when(F.col("id") == last, "secret").otherwise("1").alias("result")
        with pytest.raises(psycopg.errors.InvalidTextRepresentation) as refusal:
            held.ack(held.jobs.select("id", result))
        assert "secret" not in str(refusal.value)
        assert states(conn, "mail") == {"active": 100}
        assert len(held.open_ids) == 100


def test_fail_says_why_and_fifo_keys_are_claimed_one_job_each(
    spark: SparkSession, dsn: str, conn: Conn, jobs: None
) -> None:
    with claim(spark, dsn, "orders", 100) as held:
        rows = held.jobs.collect()
        assert len({row["singleton_key"] for row in rows}) == len(rows) == 10
        broken = held.jobs.select("id", F.concat(F.lit("broke "), "singleton_key").alias("error"))
        assert held.fail(broken.where("singleton_key < 'k5'"), retryable=False) == Settled(5, 0, 0)
        assert held.ack(held.jobs) == Settled(5, 0, 0)
    errors = conn.execute("select last_error from pgbaton.blocked_keys() order by 1").fetchall()
    assert errors == [(f"broke k{n}",) for n in range(5)]
    with claim(spark, dsn, None, 100, tags=["no"]) as held:
        assert len(held) == held.jobs.count() == 0
        assert held.release() == 0


def test_the_lease_is_extended_until_all_is_settled(
    spark: SparkSession, dsn: str, conn: Conn, jobs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats = watch_heartbeats(monkeypatch)
    with claim(spark, dsn, "mail", 5, lease=timedelta(seconds=3), worker_id="us") as held:
        assert held.worker_id == "us"
        [before] = conn.execute("select min(lease_until) from pgbaton.live_jobs").fetchone()
        cancelled = min(held.open_ids)
        conn.execute("select pgbaton.cancel_jobs(null, array[%s::bigint])", [cancelled])
        beats.wait_for_next()
        [after] = conn.execute("select min(lease_until) from pgbaton.live_jobs").fetchone()
        assert after > before
        assert held.cancelled_ids == {cancelled}
        [beating] = [t for t in threading.enumerate() if t.name == "pgbaton claim us"]
        conn.execute("select pgbaton.reset_running_jobs('mail')")
        beating.join(60)
        assert not beating.is_alive(), "what is lost is not extended"
        assert held.open_ids == frozenset()


class Heartbeats:
    def __init__(self) -> None:
        self._beaten = threading.Semaphore(0)

    def wrap(self, extend: Callable[[Claim], None]) -> Callable[[Claim], None]:
        def extend_and_tell(held: Claim) -> None:
            extend(held)
            self._beaten.release()

        return extend_and_tell

    def wait_for_next(self) -> None:
        """One that began after this call."""
        while self._beaten.acquire(blocking=False):
            pass
        for _ in range(2):
            assert self._beaten.acquire(timeout=60)


def watch_heartbeats(monkeypatch: pytest.MonkeyPatch) -> Heartbeats:
    beats = Heartbeats()
    monkeypatch.setattr(Claim, "_extend", beats.wrap(Claim._extend))
    return beats


def test_more_than_one_claim_can_hold(
    spark: SparkSession, dsn: str, conn: Conn, jobs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_claim, "MOST_OF_A_CLAIM", 30)
    monkeypatch.setattr(_claim, "STATEMENT_JOBS", 7)
    with claim(spark, dsn, "mail", 70, partitions=4) as held:
        rows = held.jobs.collect()
        assert len({row["lease_token"] for row in rows}) == 3
        assert {row["id"] for row in rows} == held.open_ids
        assert held.ack(held.jobs) == Settled(70, 0, 0)


def test_buckets_are_parts_of_one_claim_each() -> None:
    tokens = {job_id: job_id // 40 for job_id in range(100)}
    buckets = _buckets(tokens, 4)
    assert [(b.lease_token, b.first, b.last) for b in buckets] == [
        (0, 0, 24), (0, 25, 39), (1, 40, 64), (1, 65, 79), (2, 80, 99)
    ]  # fmt: skip
    assert _buckets({}, 4) == []


def test_what_failed_and_waits_is_not_lost(
    spark: SparkSession, dsn: str, conn: Conn, jobs: None
) -> None:
    with claim(spark, dsn, "mail", 3) as held:
        errors = spark.createDataFrame([(n, "no") for n in held.open_ids], "id long, error string")
        assert held.fail(errors) == Settled(3, 0, 0)
        assert held.fail(errors) == Settled(0, 3, 0)


def test_bad_calls_change_nothing(spark: SparkSession, dsn: str, conn: Conn, jobs: None) -> None:
    with pytest.raises(ValueError, match="n is 0"):
        claim(spark, dsn, "mail", 0)
    with pytest.raises(ValueError, match="partitions is 0"):
        claim(spark, dsn, "mail", 1, partitions=0)
    with pytest.raises(UnknownQueue):
        claim(spark, dsn, "nope", 1)
    with claim(spark, dsn, "mail", 2) as held:
        first, second = held.open_ids
        for message, rows, schema in (
            ('no column "id", but job', [(first,)], "job long"),
            ('"id" is null', [(None,)], "id long"),
            (f"job {second + 1000} is not of this claim", [(second + 1000,)], "id long"),
            (f"job {first} comes twice", [(first, "1"), (first, "2")], "id long, result string"),
            ("id is a column of double: pass one of bigint", [(first + 0.5,)], "id double"),
            (
                "result is a column of int: pass one of JSON text",
                [(first, 5)],
                "id long, result int",
            ),
            ('"result" holds a NUL', [(first, '"\0"')], "id long, result string"),
        ):
            with pytest.raises(ValueError, match=message):
                held.ack(spark.createDataFrame(rows, schema))
        for message, rows, schema in (
            ('no column "error", but id', [(first,)], "id long"),
            ('"error" is null or empty', [(first, None)], "id long, error string"),
        ):
            with pytest.raises(ValueError, match=message):
                held.fail(spark.createDataFrame(rows, schema))
        broken = spark.createDataFrame([(first, "secret")], "id long, result string")
        with pytest.raises(psycopg.DataError, match='column "result" holds text that is not JSON'):
            held.ack(broken)
        assert states(conn, "mail") == {"active": 2, "pending": 98}


def test_a_worker_needs_no_other_role(
    spark: SparkSession, dsn: str, conn: Conn, jobs: None
) -> None:
    role = f"tap_{conn.info.dbname}"
    conn.execute(f"create role {role} login password 'p' in role pgbaton_worker")
    try:
        with claim(spark, make_conninfo(dsn, user=role, password="p"), "mail", 3) as held:  # noqa: S106
            assert held.ack(held.jobs) == Settled(3, 0, 0)
    finally:
        conn.execute(f"drop role {role}")
