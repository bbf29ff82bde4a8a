"""docs/scale.md: reading at a standby, and several databases by hash of the key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from standbys import PRIMARY, standby_of

from pgbaton import Client, _assemble
from pgbaton import spark as queue
from pgbaton.embedded import Server, temporary_server, use_bindir
from pgbaton.install import install

PAGE = _assemble.source_root() / "docs" / "scale.md"
BINDIR = Path("/usr/lib/postgresql/15/bin")


@pytest.fixture
def primary() -> Iterator[Server]:
    """PostgreSQL 15 where it is, as on most servers; else what the other tests run on.

    Of one test: once a standby in sync is gone, each commit here waits for it, for ever.
    """
    bindir = use_bindir(BINDIR) if BINDIR.exists() else None
    with temporary_server(bindir, settings=PRIMARY) as server:
        install(server.dsn())
        yield server


@pytest.fixture(scope="module")
def other_dsn() -> Iterator[str]:
    """A second server, which has no standby."""
    with temporary_server() as server:
        install(server.dsn())
        yield server.dsn(tcp=True)


def examples() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def test_reading_at_a_standby(spark: SparkSession, primary: Server, tmp_path: Path) -> None:
    with standby_of(primary, synchronous=True) as standby, Client(primary.dsn()) as client:
        with psycopg.connect(primary.dsn(), autocommit=True) as admin:
            admin.execute("alter role postgres set synchronous_commit = remote_apply")
        client.create_fifo_queue("orders")
        with psycopg.connect(primary.dsn(), autocommit=True) as conn:
            conn.execute(
                "select pgbaton.enqueue_batch('orders', array_fill('{}'::jsonb, array[30]),"
                " array(select 'k' || n % 10 from generate_series(1, 30) as n))"
            )
            conn.execute(
                "select pgbaton.complete_claim(max(lease_token))"
                " from pgbaton.claim_job_batch('w', '{orders}', batch_size => 100)"
            )
            conn.execute(
                "select pgbaton.fail_job(id, 'broke', lease_token, false)"
                " from pgbaton.claim_job_batch('w', '{orders}', batch_size => 1)"
            )
        # The primary's port is wrong: nothing is read there.
        nowhere = make_conninfo(primary.dsn(tcp=True), port=1)
        names: dict[str, Any] = {"queue": queue, "spark": spark, "primary": nowhere}
        queue.register(spark)
        for dsn in (standby.dsn(), standby.dsn(tcp=True)):
            names["standby"] = dsn
            exec(examples()[0], names)  # noqa: S102
            assert names["history"].count() == 10
            assert names["blocked"].count() == 1
            assert names["waiting"].count() == 20
        with queue.snapshot(standby.dsn()) as moment:
            then = queue.read_history(spark, standby.dsn(), snapshot=moment, partitions=2)
            client.complete_claim(
                client.claim_job_batch("w", ["orders"], batch_size=1)[0].lease_token
            )
            assert then.count() == 10
        ended = spark.readStream.format("pgbaton").options(dsn=nowhere, dsn_read=standby.dsn())
        stream = (
            ended.load()
            .writeStream.format("parquet")
            .options(path=f"{tmp_path}/ended", checkpointLocation=f"{tmp_path}/checkpoint")
            .trigger(availableNow=True)
        )
        stream.start().awaitTermination()
        states = spark.read.parquet(f"{tmp_path}/ended").groupBy("state").count().collect()
        assert dict(tuple(row) for row in states) == {"completed": 11, "failed": 1}
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            queue.claim(spark, standby.dsn(), "orders", 1)


@pytest.fixture
def enqueue_by_key() -> Callable[..., list[queue.Enqueued]]:
    names: dict[str, Any] = {"queue": queue, "F": F}
    exec(examples()[1], names)  # noqa: S102
    found: Callable[..., list[queue.Enqueued]] = names["enqueue_by_key"]
    return found


def test_two_servers_by_hash_of_the_key_exactly_once(
    spark: SparkSession,
    dsn: str,
    other_dsn: str,
    method: str,
    enqueue_by_key: Callable[..., list[queue.Enqueued]],
) -> None:
    """The driver goes away after the first of them; run again, each row is there once."""
    dsns = [dsn, other_dsn]
    # The second server keeps what the other method wrote: another queue, and other runs.
    name = f"shared_{method}"
    for each in dsns:
        with Client(each) as client:
            client.create_fifo_queue(name)
    df = spark.range(0, 2000, 1, 3).selectExpr("id * 7919 % 2000 n", "concat('k', id % 50) k")
    gone = [dsns[0], make_conninfo(dsns[1], port=1)]
    with pytest.raises(psycopg.OperationalError):
        enqueue_by_key(df, gone, name, "k", "n", name)
    first = len(jobs_of(dsns[0], name))
    assert 0 < first < 2000
    done = enqueue_by_key(df, dsns, name, "k", "n", name)
    assert [(each.inserted, each.already) for each in done] == [(0, first), (2000 - first, 0)]
    done = enqueue_by_key(df, dsns, name, "k", "n", name)
    assert sum(each.already for each in done) == 2000
    seen = [jobs_of(each, name) for each in dsns]
    assert sorted(n for jobs in seen for _, n in jobs) == list(range(2000))
    keys = [{key for key, _ in jobs} for jobs in seen]
    assert not keys[0] & keys[1]
    assert len(keys[0] | keys[1]) == 50
    for jobs in seen:
        for key in {key for key, _ in jobs}:
            numbers = [n for k, n in jobs if k == key]
            assert numbers == sorted(numbers)


def jobs_of(dsn: str, name: str) -> list[tuple[str, int]]:
    """Key and number of the jobs of a queue, in the order of each key."""
    with psycopg.connect(dsn) as conn:
        return conn.execute(
            "select j.singleton_key, (j.payload ->> 'n')::int from pgbaton.live_jobs as j"
            " join pgbaton.span as s on s.lo = j.range_id"
            " where j.queue = %s order by s.key_position, j.id",
            [name],
        ).fetchall()


def test_a_dataframe_that_is_not_split_stays_whole(
    spark: SparkSession, dsn: str, queues: None, enqueue_by_key: Callable[..., Any]
) -> None:
    df: DataFrame = spark.range(10).selectExpr("id as n", "cast(null as string) as k")
    with pytest.raises(Exception, match="key"):
        enqueue_by_key(df.withColumn("k", F.lit("")), [dsn], "orders", "k", "n", "run")
