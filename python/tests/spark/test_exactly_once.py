"""Whatever dies while a DataFrame is enqueued: each row becomes one job, in order per key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from commit_proxy import proxy_to
from drivers import (
    CLUSTER,
    Driver,
    Work,
    driver,
    enqueue_steps,
    enqueue_what_is_refused,
    steps,
    until,
)
from psycopg.conninfo import make_conninfo
from pyspark.sql import SparkSession

from pgbaton.errors import RunExists
from pgbaton.spark import Enqueued, enqueue

Conn = psycopg.Connection[Any]
ROWS = 2000
GATE = 4711
METHODS = ["jdbc", "datasource"]
# What a transaction sends that enqueues a partition, or stages it.
MARKERS = {"jdbc": b"enqueue_inbox", "datasource": b"spark_stage"}
TABLES = {"jdbc": "enqueue_ledger", "datasource": "spark_chunk"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    with driver(CLUSTER, tmp_path_factory.mktemp("cluster")) as found:
        yield found


def assert_each_row_once(conn: Conn) -> None:
    """All steps of all keys are there, once, and a key's stand in order."""
    found = conn.execute(
        "select j.singleton_key, array_agg((j.payload ->> 'step')::int"
        " order by s.key_position + (j.id - s.lo))"
        " from pgbaton.job as j join pgbaton.span as s on j.id between s.lo and s.hi group by 1"
    ).fetchall()
    expected: dict[str, list[int]] = {}
    for row in range(ROWS):
        expected.setdefault(f"k{row * 7919 % 40}", []).append(row * 7919 % ROWS)
    assert dict(found) == {key: sorted(lane) for key, lane in expected.items()}


@contextmanager
def gate(conn: Conn, table: str, condition: str = "true") -> Iterator[Conn]:
    """Holds every COMMIT that inserted such a row, until the connection it yields is closed."""
    conn.execute(
        "create function public.gate() returns trigger language plpgsql as"
        f" $$begin perform pg_advisory_xact_lock_shared({GATE}); return null; end$$"
    )
    conn.execute(
        f"create constraint trigger zz_gate after insert on pgbaton.{table}"
        f" deferrable initially deferred for each row when ({condition})"
        " execute function public.gate()"
    )
    with psycopg.connect(conn.info.dsn, password=conn.info.password, autocommit=True) as holder:
        holder.execute("select pg_advisory_lock(%s)", [GATE])
        yield holder


def waiting(conn: Conn, event: str) -> list[int]:
    """The ports of the clients whose sessions wait for a lock of that kind."""
    return [
        port
        for (port,) in conn.execute(
            "select client_port from pg_stat_activity"
            " where datname = current_database() and wait_event_type = 'Lock' and wait_event = %s",
            [event],
        ).fetchall()
    ]


def through(port: int, dsn: str) -> str:
    return make_conninfo(dsn, host="127.0.0.1", port=port, sslmode="disable")


def server_port(conn: Conn) -> int:
    return conn.info.port


# An executor dies -------------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.timeout(600)
def test_executor_killed_during_its_commit_and_the_zombie_commits_afterwards(
    cluster: Driver, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    before = len(cluster.events("SparkListenerStageSubmitted"))
    conn.execute("create sequence public.commits")
    first = "nextval('public.commits') = 1" if method == "datasource" else "new.part = 1"
    with gate(conn, TABLES[method], first) as holder:
        work = cluster.start(enqueue_steps, dsn, method=method, partitions=4)
        [port] = until(lambda: waiting(conn, "advisory"), work)
        cluster.kill_executor_of(port)
        if method == "jdbc":
            # The second attempt at the partition waits for what has become of the first.
            until(lambda: waiting(conn, "transactionid"), work)
        else:
            # The second attempt stages under an id of its own, and the run ends.
            assert work.result().inserted == ROWS
            assert waiting(conn, "advisory") == [port]
        holder.close()
        done = work.result()
    assert (done.inserted, done.already) == (ROWS, 0)
    until(lambda: not waiting(conn, "advisory"))
    assert_each_row_once(conn)
    # Its shuffle files died with it, so that a stage ran again.
    stages = cluster.events("SparkListenerStageSubmitted")[before:]
    assert max(stage["Stage Info"]["Stage Attempt ID"] for stage in stages) > 0


@pytest.mark.proof
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.timeout(600)
def test_stage_runs_again_whose_shuffle_files_are_gone(
    cluster: Driver, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    before = len(cluster.events("SparkListenerTaskEnd"))
    with gate(conn, TABLES[method]) as holder:
        work = cluster.start(enqueue_steps, dsn, method=method, partitions=4)
        # Two of four tasks are at their COMMIT, the others have not read yet.
        ports = until(lambda: len(ports := waiting(conn, "advisory")) == 2 and ports, work)
        assert cluster.delete_shuffle_files() > 0
        if method == "jdbc":
            # There the rows are kept, and must be lost before the shuffle is read once more.
            cluster.kill_executor_of(ports[0])
        holder.close()
        done = work.result()
    assert (done.inserted, done.already) == (ROWS, 0)
    until(lambda: not waiting(conn, "advisory"))
    assert_each_row_once(conn)
    ended = cluster.events("SparkListenerTaskEnd")[before:]
    assert "FetchFailed" in {task["Task End Reason"]["Reason"] for task in ended}
    assert max(task["Stage Attempt ID"] for task in ended) > 0


@pytest.mark.proof
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.timeout(600)
def test_executor_killed_between_its_commit_and_the_reply(
    cluster: Driver, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    with proxy_to(server_port(conn)) as proxy:
        catch = proxy.catch(MARKERS[method])
        work = cluster.start(enqueue_steps, through(proxy.port, dsn), method=method, partitions=4)
        port = catch.wait()
        cluster.kill_executor_of(port)
        done = work.result()
    assert (done.inserted, done.already) == (ROWS, 0)
    assert_each_row_once(conn)


# A task fails -----------------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS)
def test_task_that_fails_after_its_commit(
    spark: SparkSession, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    with proxy_to(server_port(conn)) as proxy:
        catch = proxy.catch(MARKERS[method])
        catch.cut()
        done = enqueue_here(spark, through(proxy.port, dsn), method=method)
        catch.wait()
    assert done.inserted == ROWS
    assert_each_row_once(conn)


def enqueue_here(spark: SparkSession, dsn: str, **options: Any) -> Enqueued:
    return enqueue(steps(spark), dsn, "orders", key="k", order_by="step", **options)


# The driver dies --------------------------------------------------------------------------------
@pytest.mark.proof
@pytest.mark.parametrize("moment", ["before", "during", "after"])
@pytest.mark.timeout(600)
def test_driver_killed_around_spark_commit_and_run_again(
    spark: SparkSession, dsn: str, conn: Conn, queues: None, tmp_path: Path, moment: str
) -> None:
    options = {"run_id": "night", "method": "datasource"}
    with driver("local[2]", tmp_path) as doomed, proxy_to(server_port(conn)) as proxy:
        if moment == "before":
            with psycopg.connect(dsn) as holder:
                holder.execute("lock table pgbaton.enqueue_run in access exclusive mode")
                work = doomed.start(enqueue_steps, dsn, **options)
                until(lambda: waiting(conn, "relation"), work)
                doomed.kill()
        elif moment == "during":
            with gate(conn, "enqueue_ledger") as holder:
                work = doomed.start(enqueue_steps, dsn, **options)
                until(lambda: waiting(conn, "advisory"), work)
                doomed.kill()
                holder.close()
        else:
            catch = proxy.catch(b"spark_commit")
            work = doomed.start(enqueue_steps, through(proxy.port, dsn), **options)
            catch.wait()
            doomed.kill()
        assert_broken(work)
    again = enqueue_here(spark, dsn, partitions=3, **options)
    assert again.inserted == (ROWS if moment == "before" else 0)
    assert again.already == (0 if moment == "before" else ROWS)
    assert_each_row_once(conn)


def assert_broken(work: Work) -> None:
    assert "terminated abruptly" in str(work.exception())


def test_connection_of_the_driver_lost_after_spark_commit(
    spark: SparkSession, dsn: str, conn: Conn, queues: None
) -> None:
    with proxy_to(server_port(conn)) as proxy:
        catch = proxy.catch(b"spark_commit")
        catch.cut()
        done = enqueue_here(spark, through(proxy.port, dsn), method="datasource")
        catch.wait()
    assert done.inserted == ROWS
    assert_each_row_once(conn)


# The run comes again ----------------------------------------------------------------------------
def test_run_that_was_half_done_is_finished_but_not_with_other_partitions_or_data(
    spark: SparkSession, dsn: str, conn: Conn, queues: None
) -> None:
    conn.execute(
        "create function public.refuse() returns trigger language plpgsql as"
        " $$begin raise exception 'not now'; end$$;"
        "create trigger refuse before insert on pgbaton.enqueue_ledger"
        " for each row when (new.part = 3) execute function public.refuse()"
    )
    options = {"run_id": "night", "method": "jdbc"}
    with pytest.raises(psycopg.Error, match="not now"):
        enqueue_here(spark, dsn, partitions=4, **options)
    conn.execute("drop trigger refuse on pgbaton.enqueue_ledger")
    [(jobs,)] = conn.execute("select count(*) from pgbaton.jobs").fetchall()
    assert 0 < jobs < ROWS

    with pytest.raises(RunExists, match="in 7 partitions, but was begun in 4 partitions"):
        enqueue_here(spark, dsn, partitions=7, **options)
    other = steps(spark).where("step <> 5")
    with pytest.raises(RunExists, match="other data"):
        enqueue(other, dsn, "orders", key="k", order_by="step", partitions=4, **options)
    done = enqueue_here(spark, dsn, partitions=4, **options)
    assert (done.inserted, done.already) == (ROWS - jobs, jobs)
    assert_each_row_once(conn)
    done = enqueue_here(spark, dsn, partitions=4, **options)
    assert (done.inserted, done.already) == (0, ROWS)
    assert_each_row_once(conn)


def test_run_in_one_transaction_may_come_again_in_other_partitions_but_not_with_other_data(
    spark: SparkSession, dsn: str, conn: Conn, queues: None
) -> None:
    options = {"run_id": "night", "method": "datasource"}
    assert enqueue_here(spark, dsn, partitions=4, **options).inserted == ROWS
    done = enqueue_here(spark, dsn, partitions=7, **options)
    assert (done.inserted, done.already) == (0, ROWS)
    other = steps(spark).where("step <> 5")
    with pytest.raises(RunExists, match="other data"):
        enqueue(other, dsn, "orders", key="k", order_by="step", **options)
    assert_each_row_once(conn)
    assert conn.execute("select count(*) from pgbaton.spark_chunk").fetchone() == (0,)


@pytest.mark.parametrize("method", METHODS)
def test_unkeyed_rows_keep_their_partition_when_the_run_comes_again(
    spark: SparkSession, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    df = spark.range(0, 1000, 1, 5)
    for shuffled in (df, df.repartition(3), df.orderBy("id", ascending=False)):
        enqueue(shuffled, dsn, "mail", run_id="night", partitions=4, method=method)
    counted = conn.execute("select count(*), count(distinct payload) from pgbaton.jobs")
    assert counted.fetchone() == (1000, 1000)


def test_a_run_that_comes_again_for_another_queue_is_refused(
    spark: SparkSession, dsn: str, conn: Conn, queues: None
) -> None:
    """With the data source it still counts as done: spark_commit compares the rows only."""
    conn.execute("select pgbaton.create_queue('post')")
    enqueue(spark.range(10), dsn, "mail", run_id="night", method="jdbc")
    with pytest.raises(RunExists) as refusal:
        enqueue(spark.range(10), dsn, "post", run_id="night", method="jdbc")
    assert not hasattr(refusal.value, "__notes__"), "no advice to use the run_id again"


# Refused ----------------------------------------------------------------------------------------
@pytest.mark.timeout(600)
def test_spark_logs_no_payload_of_a_run_that_is_refused(
    dsn: str, conn: Conn, queues: None, tmp_path: Path
) -> None:
    path = tmp_path / "payloads"
    path.write_text('{"n": 1}\n"secret\n')
    with driver("local[2,2]", tmp_path) as found:
        for method in METHODS:
            said = found.start(enqueue_what_is_refused, dsn, str(path), method).result()
            assert 'column "payload" holds text that is not JSON' in said
            # Who calls sees how the bad row begins, and Spark's log does not.
            assert """payload '"secret'""" in said
    assert "TaskSetManager" in found.log()
    assert "secret" not in found.log()


# Partitions side by side ------------------------------------------------------------------------
def test_partitions_do_not_wait_for_one_that_has_not_committed(
    cluster: Driver, dsn: str, conn: Conn, queues: None
) -> None:
    with gate(conn, "enqueue_ledger", "new.part = 0") as holder:
        work = cluster.start(enqueue_steps, dsn, method="jdbc", partitions=4)
        until(lambda: waiting(conn, "advisory"), work)
        until(
            lambda: conn.execute("select count(*) from pgbaton.enqueue_ledger").fetchone() == (3,),
            work,
        )
        assert len(waiting(conn, "advisory")) == 1
        holder.close()
        assert work.result().inserted == ROWS
    assert_each_row_once(conn)


@pytest.mark.parametrize("method", METHODS)
def test_dedup_ids_that_overlap_between_partitions_in_opposite_order(
    cluster: Driver, dsn: str, conn: Conn, queues: None, method: str
) -> None:
    done = cluster.start(enqueue_overlapping, dsn, method).result()
    assert (done.inserted, done.deduped) == (500, 500)
    assert conn.execute("select count(*) from pgbaton.jobs").fetchone() == (500,)
    assert conn.execute(
        "select count(*) from pgbaton.dedup as d join pgbaton.job as j on j.id = d.job_id"
    ).fetchone() == (500,)


def enqueue_overlapping(dsn: str, method: str) -> Enqueued:
    """Two keys, whose rows have the same ids, one rising and one falling."""
    import drivers

    df = (
        drivers._sessions[0]
        .range(0, 1000, 1, 2)
        .selectExpr("if(id < 500, 'k0', 'k1') as k", "if(id < 500, id, 999 - id) as d", "id")
    )
    return enqueue(
        df, dsn, "orders", key="k", order_by="id", dedup="d", partitions=2, method=method
    )
