"""The benchmark's adapters do their work: what is enqueued is done once, and in order."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import charts
from harness import Batch, Fill, Run, curve_of, drain, enqueue_all, payload, verify_order
from peer_report import Goal, Results, goals_of
from queues import QUEUES
from queues.base import Consumer, Queue
from queues.own import Pgbaton, PgbatonInOneCall, PgbatonKeyLimit
from queues.textbook import Textbook


@pytest.fixture(params=[Pgbaton, PgbatonInOneCall, Textbook], ids=lambda kind: kind.name)
def installed(request: pytest.FixtureRequest, server_dsn: str) -> Iterator[tuple[Queue, str]]:
    queue = request.param()
    with empty_database(server_dsn) as dsn:
        queue.install(dsn)
        yield queue, dsn


@contextmanager
def empty_database(server: str) -> Iterator[str]:
    name = f"bench_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        yield make_conninfo(server, dbname=name)
        conn.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def filled(queue: Queue, dsn: str, *fills: Fill) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        for fill in fills:
            enqueue_all(queue, conn, fill)
        assert queue.enqueued(conn) == sum(fill.jobs for fill in fills)


@pytest.mark.parametrize("singly", [False, True])
def test_two_consumers_do_every_job_once(installed: tuple[Queue, str], singly: bool) -> None:
    queue, dsn = installed
    fill = Fill(300, singly=singly, batch=7)
    filled(queue, dsn, fill)
    run = drain(queue, dsn, fill, consumers=2)
    assert (run.jobs, run.is_complete) == (300, True)
    done = [index for batch in run.batches for index in batch.indexes]
    assert sorted(done) == list(range(300))
    assert {"p50", "p95", "p99"} == set(run.figures()["claim_ms"])
    with psycopg.connect(dsn, autocommit=True) as conn:
        assert queue.left(conn) == 0


def test_a_job_of_a_batch_is_acknowledged_alone(installed: tuple[Queue, str]) -> None:
    queue, dsn = installed
    filled(queue, dsn, Fill(10))
    with psycopg.connect(dsn, autocommit=True) as conn:
        claim = queue.claim(conn, "plain", Consumer(0, 1), 10)
        assert [job["i"] for job in claim.payloads] == list(range(10))
        queue.ack_one(conn, claim, 4)
        assert queue.left(conn) == 9


def test_drain_keeps_the_order_of_keys_and_does_not_wait_for_others(server_dsn: str) -> None:
    queue = Pgbaton()
    hot, others = Fill(50, keys=1), Fill(20, keys=1000, first=50)
    with empty_database(server_dsn) as dsn:
        queue.install(dsn)
        filled(queue, dsn, hot, others)
        run = drain(queue, dsn, others, consumers=2, others=50)
    assert (run.jobs, run.is_complete) == (20, True)


def batch(claimed: float, acking: float, index: int) -> Batch:
    return Batch(claimed, claimed, acking, acking, [index], [0.0])


@pytest.mark.parametrize(
    "batches",
    [
        [batch(1, 2, 1), batch(3, 4, 0)],
        [batch(1, 3, 0), batch(2, 4, 1)],
    ],
    ids=["order", "together"],
)
def test_the_check_of_order_finds_what_is_wrong(batches: list[Batch]) -> None:
    verify_order(Pgbaton(), batches, lambda index: index)
    with pytest.raises(AssertionError):
        verify_order(Pgbaton(), batches, lambda index: 0)


def test_eight_jobs_of_a_key_run_at_once_and_each_once(server_dsn: str) -> None:
    queue = PgbatonKeyLimit()
    fill = Fill(60, keys=3)
    with empty_database(server_dsn) as dsn:
        queue.install(dsn)
        filled(queue, dsn, fill)
        run = drain(queue, dsn, fill, consumers=2)
    assert (run.jobs, run.is_complete) == (60, True)


def test_a_limited_queue_is_drained_by_many(server_dsn: str) -> None:
    queue = Pgbaton()
    fill = Fill(40, batch=1)
    with empty_database(server_dsn) as dsn:
        queue.install(dsn)
        filled(queue, dsn, fill)
        with psycopg.connect(dsn, autocommit=True) as conn:
            queue.limit_running(conn, 2)
            claims = [queue.claim(conn, "plain", Consumer(0, 1), 1) for _ in range(3)]
            assert [len(claim.ids) for claim in claims] == [1, 1, 0]
            for claim in claims[:2]:
                queue.ack(conn, "plain", claim)
        run = drain(queue, dsn, fill._replace(jobs=38, first=2), consumers=4, idle=0.01)
    assert (run.jobs, run.is_complete) == (38, True)


def test_payloads_are_the_size_that_is_promised() -> None:
    assert 180 <= len(payload(123_456, 1000.5)) <= 220
    assert json.loads(payload(7, 1.5))["i"] == 7


def goal(name: str, change: Callable[[Results], Any]) -> Goal:
    results = Results()
    change(results)
    (found,) = [goal for goal in goals_of(results, QUEUES) if goal.text == name]
    return found


def test_goals_are_ratios_of_the_medians_of_the_run() -> None:
    def both(results: Results) -> None:
        for seconds in (1.0, 2.0, 100.0):
            results.add("drain_b10", "pgbaton", Run(3000, seconds))
            results.add("drain_b10", "pg-boss", Run(1000, seconds))
            results.add("drain_b10", "textbook", Run(2000, seconds))

    name = "b=10, two calls / best package"
    assert goal(name, both) == Goal(name, 3.0, 1)
    assert goal(name, both).verdict == "reached"
    assert goal(name, lambda results: None).verdict == "not measured"
    assert Goal("a", 1.4, 1.5).verdict == Goal("a", 1.6, 1.5, is_least=False).verdict == "missed"


def test_a_report_keeps_what_is_not_measured_anew() -> None:
    before, now = Results(), Results()
    for results, rate in ((before, 10), (now, 20)):
        results.add("drain_b1", "pgbaton", Run(rate, 1.0))
    before.add("enqueue_one", "pgbaton", Run(30, 1.0))
    before.failures = ["drain_b1, pgbaton: old", "enqueue_one, pgq: old"]
    now.keep(before)
    assert now.median("drain_b1", "pgbaton", "jobs_per_s") == 20
    assert now.median("enqueue_one", "pgbaton", "jobs_per_s") == 30
    assert now.failures == ["enqueue_one, pgq: old"]


def test_the_pictures_show_what_was_measured() -> None:
    results = Results()
    results.add("drain_b10", "pgbaton", Run(3000, 1.0))
    results.add("drain_b10", "a < b", Run(1000, 1.0))
    results.add("held_snapshot", "pgbaton", Run(100, 1.0, curve=[1.0, 2.5, 2.0]))
    found = charts.drawings(results)
    assert set(found) == {"speed.svg", "speed-held.svg"}
    assert found["speed.svg"].index("3,000") < found["speed.svg"].index("a &lt; b")
    assert "pgbaton 2<" in found["speed-held.svg"]


def test_a_curve_has_the_time_of_each_twelfth() -> None:
    sent = [Batch(0, 0, 0, at + 0.001 * (1 + at), [0], [at]) for at in range(12)]
    assert curve_of(sent, 0, 12) == [pytest.approx(1.0 + at) for at in range(12)]
