"""Tasks of one Python worker share a connection, one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from pyspark.sql import SparkSession

from pgbaton.spark import _task_connection, register
from pgbaton.spark._dsn import Target
from pgbaton.spark._task_connection import task_connection

Conn = psycopg.Connection[Any]


@pytest.fixture
def target(dsn: str, conn: Conn) -> Iterator[Target]:
    conn.execute("create table public.done (n integer)")
    yield Target.resolve(dsn)
    if _task_connection._kept is not None:
        _task_connection._kept.connection.close()
        _task_connection._kept = None


def run_task(target: Target, n: int = 0, then: str = "") -> int:
    """Which backend did it."""
    with task_connection(target) as connection:
        connection.execute("insert into public.done values (%s)", [n])
        connection.execute(then)
        return connection.info.backend_pid


def done(conn: Conn) -> list[int]:
    return [n for (n,) in conn.execute("select n from public.done order by n").fetchall()]


def test_the_next_task_has_the_same_in_a_transaction_of_its_own(target: Target, conn: Conn) -> None:
    assert run_task(target, 1) == run_task(target, 2)
    assert done(conn) == [1, 2]
    with task_connection(target) as connection:
        connection.execute("set transaction isolation level serializable")  # nothing ran before


def test_it_waits_without_a_transaction(target: Target, conn: Conn) -> None:
    pid = run_task(target)
    assert conn.execute(
        "select state, backend_xmin, application_name from pg_stat_activity where pid = %s", [pid]
    ).fetchone() == ("idle", None, "pgbaton")


def test_what_fails_leaves_nothing(target: Target, conn: Conn) -> None:
    pid = run_task(target, 0)
    with pytest.raises(psycopg.errors.DivisionByZero):
        run_task(target, 1, "select 1 / 0")
    wait_until_gone(conn, pid)
    assert run_task(target, 2) != pid
    assert done(conn) == [0, 2]


def test_one_that_the_server_ended_is_opened_anew(target: Target, conn: Conn) -> None:
    pid = run_task(target, 1)
    conn.execute("select pg_terminate_backend(%s, 60000)", [pid])
    assert run_task(target, 2) != pid
    assert done(conn) == [1, 2]


def test_one_that_waited_long_is_opened_anew(
    target: Target, conn: Conn, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = run_task(target, 1)
    monkeypatch.setattr(_task_connection, "SECONDS_KEPT", 0.0)
    assert run_task(target, 2) != pid
    wait_until_gone(conn, pid)


def test_another_user_has_another(target: Target, conn: Conn, dsn: str) -> None:
    conn.execute("create role other login password 'other' superuser")
    try:
        pid = run_task(target, 1)
        other = Target.resolve(make_conninfo(dsn, user="other", password="other"))  # noqa: S106
        assert run_task(other, 2) != pid
        wait_until_gone(conn, pid)
    finally:
        _task_connection._kept.connection.close()
        conn.execute("drop role other")


def wait_until_gone(conn: Conn, pid: int) -> None:
    """The server ends it soon after the client said so."""
    deadline = time.monotonic() + 60
    while conn.execute("select from pg_stat_activity where pid = %s", [pid]).fetchall():
        assert time.monotonic() < deadline


def test_tasks_of_spark_share_connections(
    spark: SparkSession, dsn: str, conn: Conn, queues: None
) -> None:
    conn.execute("""
        create table public.seen (pid integer);
        create function public.see() returns trigger language plpgsql as
        $$ begin insert into public.seen values (pg_backend_pid()); return null; end $$;
        create trigger see after insert on pgbaton.spark_chunk execute function public.see()
    """)
    register(spark)
    rows = spark.range(0, 120, 1, 12).selectExpr("cast(id as string) as payload")
    rows.write.format("pgbaton").mode("append").options(dsn=dsn, queue="mail").save()
    tasks, backends = conn.execute("select count(*), count(distinct pid) from seen").fetchone()
    assert tasks == 12
    assert backends < 6
