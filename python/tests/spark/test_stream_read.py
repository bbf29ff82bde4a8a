"""Structured Streaming reads jobs as they end: each once, also those that commit late."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import DataFrame, SparkSession

from pgbaton.spark import register
from pgbaton.spark._stream_reader import FinishedJobStreamReader
from pgbaton.spark._views import FINISHED, schema_of

Conn = psycopg.Connection[Any]


@pytest.fixture
def claimed(conn: Conn, queues: None) -> tuple[list[int], int]:
    """300 claimed jobs of mail, each in a row of its own, and the token of their claim."""
    conn.execute(
        "select pgbaton.enqueue_batch('mail', array_fill('{}'::jsonb, array[300]),"
        " array(select n::text from generate_series(1, 300) as n))"
    )
    rows = conn.execute(
        "select id, lease_token from pgbaton.claim_job_batch('w', '{mail}', batch_size => 300)"
    ).fetchall()
    return [row[0] for row in rows], rows[0][1]


def complete(conn: Conn, ids: list[int], token: int) -> None:
    conn.execute("select pgbaton.complete_jobs(%s, %s)", [ids, token])


class Sink:
    """Runs the stream over what is there, from its checkpoint on, and keeps what it delivered."""

    def __init__(self, spark: SparkSession, dsn: str, folder: Path, **options: str) -> None:
        register(spark)
        self.stream = spark.readStream.format("pgbaton").options(dsn=dsn, **options).load()
        self.folder = folder
        self.ids: Counter[int] = Counter()
        self.states: Counter[str] = Counter()
        self.fails = False
        self.fails_after: int | None = None
        self.batches: list[int] = []

    def run(self) -> int:
        """How many jobs it delivered."""
        before = self.ids.total()
        query = (
            self.stream.writeStream.foreachBatch(self._write)
            .option("checkpointLocation", str(self.folder))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return self.ids.total() - before

    def _write(self, batch: DataFrame, number: int) -> None:
        rows = batch.select("id", "state").collect()
        if self.fails or len(self.batches) == self.fails_after:
            raise RuntimeError("the sink is broken")
        self.batches.append(len(rows))
        self.ids.update(row["id"] for row in rows)
        self.states.update(row["state"] for row in rows)


def test_a_transaction_held_open_across_batches_is_delivered_once(
    spark: SparkSession, dsn: str, conn: Conn, claimed: tuple[list[int], int], tmp_path: Path
) -> None:
    ids, token = claimed
    sink = Sink(spark, dsn, tmp_path, queue="mail")
    with psycopg.connect(dsn) as late:
        complete(late, ids[:50], token)
        complete(conn, ids[50:100], token)
        sink.run()
        complete(conn, ids[100:200], token)
        sink.run()
        assert not sink.ids.keys() & set(ids[:50])
        late.commit()
    # A batch that failed is read again from the checkpoint.
    sink.fails = True
    with pytest.raises(Exception, match="the sink is broken"):
        sink.run()
    sink.fails = False
    complete(conn, ids[200:299], token)
    conn.execute("select pgbaton.fail_job(%s, 'broke', %s, false)", [ids[299], token])
    sink.run()
    sink.run()
    assert sink.ids == Counter(ids)
    assert sink.states == {"completed": 299, "failed": 1}
    assert sink.run() == 0


def test_a_reader_by_itself(
    dsn: str, conn: Conn, spark: SparkSession, claimed: tuple[list[int], int]
) -> None:
    """Offsets, ranges and rows, without a query around them."""
    ids, token = claimed
    schema = schema_of({"id": FINISHED["id"], "tags": FINISHED["tags"]})
    earliest = FinishedJobStreamReader({"dsn": dsn, "partitions": "2"}, schema)
    latest = FinishedJobStreamReader({"dsn": dsn, "startingOffsets": "latest"}, schema)
    complete(conn, ids[:10], token)
    now = latest.initialOffset()
    assert latest.latestOffset(now, None) == now
    complete(conn, ids[10:30], token)
    for reader, start, expected in (
        (earliest, earliest.initialOffset(), ids[:30]),
        (latest, now, ids[10:30]),
    ):
        until = reader.latestOffset(start, None)
        assert until != start
        ranges = reader.partitions(start, until)
        rows = [row for part in ranges for batch in reader.read(part) for row in batch.to_pylist()]
        assert sorted(row["id"] for row in rows) == sorted(expected)
        assert all(row["tags"] == [] for row in rows)
        assert reader.latestOffset(until, None) == until
        assert reader.partitions(until, until) == []


def test_a_batch_has_about_as_many_jobs_as_is_said(
    spark: SparkSession, dsn: str, conn: Conn, claimed: tuple[list[int], int], tmp_path: Path
) -> None:
    """All ended in one transaction; between two runs the most that a batch may have changes."""
    ids, token = claimed
    complete(conn, ids, token)
    sink = Sink(spark, dsn, tmp_path, maxJobsPerTrigger="100", partitions="3")
    sink.fails_after = 1
    with pytest.raises(Exception, match="the sink is broken"):
        sink.run()
    assert sink.ids.total() == 100
    sink.fails_after = None
    conn.execute("select pgbaton.enqueue_batch('mail', array_fill('{}'::jsonb, array[3]))")
    conn.execute(
        "select pgbaton.complete_jobs(array_agg(id), max(lease_token)) from"
        " pgbaton.claim_job_batch('w', '{mail}', batch_size => 3)"
    )
    smaller = Sink(spark, dsn, tmp_path, maxJobsPerTrigger="64", partitions="3")
    assert smaller.run() == 203
    assert max(smaller.batches) <= 100
    assert len(smaller.batches) >= 4
    assert sink.ids + smaller.ids == Counter([*ids, *smaller.ids.keys() - set(ids)])
    assert Sink(spark, dsn, tmp_path).run() == 0


def test_what_the_progress_of_a_stream_says(
    spark: SparkSession, dsn: str, conn: Conn, claimed: tuple[list[int], int], tmp_path: Path
) -> None:
    """As docs/spark.md has it."""
    ids, token = claimed
    complete(conn, ids, token)
    register(spark)
    stream = spark.readStream.format("pgbaton").options(dsn=dsn, maxJobsPerTrigger="100").load()
    writer = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    told = [progress for progress in query.recentProgress if progress["numInputRows"]]
    assert [progress["numInputRows"] for progress in told] == [100, 100, 100]
    ends = [json.loads(progress["sources"][0]["endOffset"]) for progress in told]
    assert [set(end) for end in ends[:2]] == [{"from", "until", "last_id"}] * 2
    assert {"xid", "next_at"} <= set(ends[2])
    assert ends[2] == ends[0]["until"]
    [(now,)] = conn.execute("select extract(epoch from now()) * 1000000").fetchall()
    assert 0 <= now - ends[2]["next_at"] < 600_000_000


def test_a_job_that_ended_twice_is_in_one_range_for_each_time(
    spark: SparkSession, dsn: str, conn: Conn, claimed: tuple[list[int], int]
) -> None:
    """Ranges by their first ids alone: each id is in one of them, whatever the size."""
    ids, token = claimed
    complete(conn, ids, token)
    schema = schema_of({"id": FINISHED["id"]})
    for most in (1, 7, 299, 300, 1000):
        reader = FinishedJobStreamReader({"dsn": dsn, "maxJobsPerTrigger": str(most)}, schema)
        start, seen, batches = reader.initialOffset(), Counter[int](), 0
        # One by one some are enough: each is a connection or two.
        looks = 40 if most == 1 else 300
        while batches < looks and (end := reader.latestOffset(start, None)) != start:
            rows = [
                row
                for part in reader.partitions(start, end)
                for batch in reader.read(part)
                for row in batch.to_pylist()
            ]
            assert len(rows) <= most
            seen.update(row["id"] for row in rows)
            start, batches = end, batches + 1
        assert seen == Counter(sorted(ids)[: looks * most])
        assert batches == min(looks, -(-300 // most))


def test_bad_options_are_named(dsn: str, spark: SparkSession) -> None:
    for message, options in (
        ('option "dsn" is missing', {}),
        (
            "option startingOffsets is now: pass earliest, latest",
            {"dsn": dsn, "startingOffsets": "now"},
        ),
        ("partitions is 0", {"dsn": dsn, "partitions": "0"}),
        ("option maxJobsPerTrigger is 0", {"dsn": dsn, "maxJobsPerTrigger": "0"}),
        (
            'there is no option "jobs" for readStream: it is one of read',
            {"dsn": dsn, "jobs": "all"},
        ),
    ):
        with pytest.raises(ValueError, match=message):
            FinishedJobStreamReader(options, schema_of(FINISHED))
