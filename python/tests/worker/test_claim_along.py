"""Outcomes that ride on the next claim: which calls a worker makes, and what becomes of them."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from workers import running, wait_for_state, wait_until

from pgbaton import AsyncClient, Client, RunningJob, Worker

ENDS = ("complete_job", "complete_jobs", "complete_and_claim")
CLAIMS = ("claim_job_batch", "complete_and_claim")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the calls that workers make, in their order."""
    made: list[str] = []
    call = AsyncClient._call

    async def noted(self: AsyncClient, function: str, *arguments: Any) -> Any:
        made.append(function)
        return await call(self, function, *arguments)

    monkeypatch.setattr(AsyncClient, "_call", noted)
    return made


def enqueue(client: Client, jobs: int, queue: str = "mail") -> list[int]:
    return client.enqueue_batch(queue, [{"n": n} for n in range(jobs)])


def wait_for_all(client: Client, ids: list[int]) -> None:
    for job_id in ids:
        wait_for_state(client, job_id, "completed")


def runs_of(client: Client, ids: list[int]) -> list[int]:
    return [client.get_job(job_id).attempt for job_id in ids]


def test_the_outcome_of_a_job_brings_the_next_one(
    dsn: str, client: Client, calls: list[str]
) -> None:
    worker = Worker(dsn, capacity=1, maintenance=False)
    worker.handler("mail")(lambda job: {"n": job.payload["n"]})
    ids = enqueue(client, 5)
    with running(worker):
        wait_for_all(client, ids)
    assert [name for name in calls if name in ENDS] == ["complete_and_claim"] * 5
    first = [name for name in calls if name in CLAIMS]
    assert first[:6] == ["claim_job_batch", *["complete_and_claim"] * 5]
    assert [client.get_job(job_id).result for job_id in ids] == [{"n": n} for n in range(5)]
    assert runs_of(client, ids) == [1] * 5


def test_the_room_of_several_jobs_is_filled_by_one_call(
    dsn: str, client: Client, calls: list[str]
) -> None:
    """All four end while one connection is busy with nothing else, and the next four come."""
    together = threading.Barrier(4)
    worker = Worker(dsn, capacity=4, maintenance=False)
    worker.handler("mail")(lambda job: together.wait(60) and None)
    ids = enqueue(client, 12)
    with running(worker):
        wait_for_all(client, ids)
    assert runs_of(client, ids) == [1] * 12
    # A barrier lets them go at once, but nobody promises that they end within 3 ms.
    assert 3 <= calls.count("complete_and_claim") <= 12
    assert calls.count("claim_job_batch") <= 12 - calls.count("complete_and_claim") + 3


def test_a_worker_that_has_found_all_sends_outcomes_alone_and_at_once(
    dsn: str, client: Client, calls: list[str]
) -> None:
    """Nobody waits for more jobs, so an outcome has no claim to ride on."""
    go_on = [threading.Event() for _ in range(3)]
    worker = Worker(dsn, capacity=10, maintenance=False)
    worker.handler("mail")(lambda job: go_on[job.payload["n"]].wait(60) and None)
    ids = enqueue(client, 3)
    with running(worker):
        wait_until(lambda: "wait_for_jobs" in calls, "for its sleep")
        for job_id, event in zip(ids, go_on, strict=True):
            event.set()
            wait_for_state(client, job_id, "completed")
    assert calls.count("complete_job") == 3
    assert "complete_and_claim" not in calls


def test_the_next_job_of_a_key_comes_with_the_outcome_of_the_last(
    dsn: str, client: Client, calls: list[str]
) -> None:
    order: list[int] = []
    worker = Worker(dsn, capacity=1, maintenance=False)
    worker.handler("orders")(lambda job: order.append(job.id))
    ids = client.enqueue_batch("orders", list(range(6)), ["k"] * 6)
    with running(worker):
        wait_for_all(client, ids)
    assert order == ids
    # The first one to notice that the key has more finds it in the call that ends its job.
    assert calls[: calls.index("complete_and_claim")].count("claim_job_batch") == 1
    assert calls.count("complete_and_claim") == 6


def test_a_job_that_was_lost_is_dropped_with_a_warning_and_the_next_one_runs(
    dsn: str, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    taken, go_on = threading.Event(), threading.Event()
    worker = Worker(dsn, capacity=1, worker_id="loser", maintenance=False)

    @worker.handler("mail")
    def handle(job: RunningJob) -> None:
        if job.payload["n"] == 0 and job.attempt == 1:
            taken.set()
            go_on.wait(60)

    ids = enqueue(client, 2)
    with caplog.at_level(logging.WARNING, "pgbaton.worker"), running(worker):
        assert taken.wait(60)
        client.mark_worker_unresponsive("loser")
        [job] = client.claim_job_batch("thief", ["mail"], batch_size=1)
        go_on.set()
        wait_for_state(client, ids[1], "completed")
        assert client.complete_jobs([job.id], job.lease_token)[0].verdict == "ok"
    said = [r.message for r in caplog.records if r.message.endswith("was dropped")]
    lost = f"job {ids[0]} of queue mail: lease_lost, so its outcome Completed was dropped"
    assert said == [lost]
    assert client.get_job(ids[0]).worker_id == "thief"


def test_a_result_that_cannot_be_stored_fails_its_job_only(dsn: str, client: Client) -> None:
    worker = Worker(dsn, capacity=1, maintenance=False)

    @worker.handler("mail")
    def handle(job: RunningJob) -> Any:
        return None if job.payload["n"] else [] if job.attempt > 1 else deep(600)

    ids = enqueue(client, 3)
    with running(worker):
        wait_for_all(client, ids)
    assert runs_of(client, ids) == [2, 1, 1]
    assert "could not be stored" in str(client.get_job(ids[0]).error_message)


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def test_a_claim_that_fails_takes_no_outcome_back(
    own_dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One of the worker's queues goes while its job runs; the other one goes on."""
    go_on = threading.Event()
    worker = Worker(own_dsn, capacity=1, maintenance=False)
    worker.handler("mail")(lambda job: go_on.wait(60) and "well")
    worker.handler("news")(lambda job: None)
    with Client(own_dsn) as client:
        client.create_queue("mail")
        client.create_queue("news")
        ids = enqueue(client, 3)
        with caplog.at_level(logging.ERROR, "pgbaton.worker"), running(worker):
            wait_for_state(client, ids[0], "active")
            client.drop_queue("news")
            go_on.set()
            wait_for_all(client, ids)
        assert runs_of(client, ids) == [1] * 3
        assert [client.get_job(job_id).result for job_id in ids] == ["well"] * 3
    assert "has no queue news" in caplog.text


def test_a_worker_that_stops_claims_nothing_along(
    dsn: str, client: Client, calls: list[str]
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    worker = Worker(dsn, capacity=1, maintenance=False)

    @worker.handler("mail")
    def handle(job: RunningJob) -> None:
        begun.set()
        go_on.wait(60)

    ids = enqueue(client, 2)
    with running(worker) as it:
        assert begun.wait(60)
        it.stop()
        go_on.set()
        it.join()
    assert client.get_job(ids[0]).state == "completed"
    assert (client.get_job(ids[1]).state, client.get_job(ids[1]).attempt) == ("pending", 0)
    assert "complete_and_claim" not in calls


def test_a_connection_that_breaks_during_the_call_loses_and_doubles_nothing(own_dsn: str) -> None:
    worker = Worker(own_dsn, capacity=1, maintenance=False)
    ran: list[int] = []
    worker.handler("mail")(lambda job: ran.append(job.id))
    with psycopg.connect(own_dsn) as lock:
        with Client(own_dsn) as client:
            client.create_queue("mail")
            ids = enqueue(client, 3)
        lock.execute("lock table pgbaton.job_history in exclusive mode")
        with running(worker):
            wait_until(lambda: waits_for_a_lock(own_dsn), "for the call to wait")
            terminate_workers(own_dsn)
            lock.rollback()
            with Client(own_dsn) as again:
                wait_for_all(again, ids)
                assert runs_of(again, ids) == [1] * 3
    assert ran == ids


def test_an_answer_that_is_lost_costs_its_jobs_a_lease(
    dsn: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call was committed: the outcome stands, and what it claimed comes back."""
    call = AsyncClient._call
    lost: list[str] = []

    async def loses_the_first(self: AsyncClient, function: str, *arguments: Any) -> Any:
        answer = await call(self, function, *arguments)
        if function == "complete_and_claim" and not lost:
            lost.append(function)
            raise psycopg.OperationalError("the connection is closed")
        return answer

    monkeypatch.setattr(AsyncClient, "_call", loses_the_first)
    worker = Worker(dsn, capacity=1, maintenance=False, lease=timedelta(seconds=1))
    ran: list[int] = []
    worker.handler("mail")(lambda job: ran.append(job.id))
    ids = enqueue(client, 3)
    with running(worker):
        wait_for_all(client, ids)
    assert runs_of(client, ids) == [1, 2, 1]
    assert sorted(ran) == ids


def waits_for_a_lock(dsn: str) -> bool:
    with psycopg.connect(dsn) as conn:
        found = conn.execute(
            "select from pg_stat_activity where datname = current_database()"
            " and wait_event_type = 'Lock' and query like '%complete_and_claim%'"
        ).fetchone()
    return found is not None


def terminate_workers(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(
            "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
            " where datname = current_database() and query like '%complete_and_claim%'"
            " and pid <> pg_backend_pid()"
        )
