"""What a worker logs: sentences for people, fields for machines, the FIFO lines of d."""

from __future__ import annotations

import logging
from typing import Any

import psycopg
import pytest
from workers import running, wait_for_state

from pgbaton import Client, Fail, RunningJob, Worker


def test_the_fifo_lines(dsn: str, client: Client, caplog: pytest.LogCaptureFixture) -> None:
    worker = Worker(dsn)

    @worker.handler("orders")
    def handle(job: RunningJob) -> None:
        if job.payload == "fail":
            raise ValueError("no")
        if job.payload == "give up":
            raise Fail("never")

    @worker.handler("mail")
    def send(job: RunningJob) -> None:
        raise Fail("keys block nothing here")

    job_id = client.enqueue_job("orders", "fail", singleton_key="a", max_attempts=3)
    gave_up = client.enqueue_job("orders", "give up", singleton_key="b", max_attempts=3)
    mail = client.enqueue_job("mail", singleton_key="a")
    with caplog.at_level(logging.INFO, "pgbaton.worker"), running(worker):
        for failing in (job_id, gave_up, mail):
            wait_for_state(client, failing, "failed")
    lines = [r for r in caplog.records if r.message.startswith("[FIFO]")]
    said = [(r.levelname, r.message.replace("for 1s", "for 0s")) for r in lines]
    assert [line for line in said if "/a" in line[1]] == [
        ("INFO", f"[FIFO] orders/a blocked - waiting for attempt 2 of job {job_id} to complete"),
        ("WARNING", "[FIFO] orders/a blocked for 0s - current attempt on retry 1/2"),
        ("INFO", f"[FIFO] orders/a blocked - waiting for attempt 3 of job {job_id} to complete"),
        ("WARNING", "[FIFO] orders/a blocked for 0s - current attempt on retry 2/2"),
        (
            "ERROR",
            f"[FIFO] orders/a blocked - job {job_id} failed for good: "
            "retry_job, skip_job or delete_job",
        ),
    ]
    assert [line for line in said if "/b" in line[1]] == [
        (
            "ERROR",
            f"[FIFO] orders/b blocked - job {gave_up} failed for good: "
            "retry_job, skip_job or delete_job",
        )
    ]
    assert len(said) == 6
    fields: dict[str, Any] = lines[-1].__dict__
    assert (fields["pgbaton_event"], fields["queue"], fields["max_attempts"]) == (
        "fifo",
        "orders",
        3,
    )
    assert fields["worker_id"] == worker.worker_id


def test_a_failure_is_logged_with_its_traceback(
    dsn: str, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker(dsn)

    @worker.handler("mail", "letter")
    def handle(job: RunningJob) -> None:
        raise ValueError("no such street")

    job_id = client.enqueue_job("mail", job_type="letter", max_attempts=1)
    with running(worker):
        wait_for_state(client, job_id, "failed")
    [record] = [r for r in caplog.records if r.__dict__.get("pgbaton_event") == "failed"]
    said = f"job {job_id} of queue mail failed for good, attempt 1 of 1: ValueError: no such street"
    assert record.message.startswith(said)
    assert 'raise ValueError("no such street")' in caplog.text
    fields = record.__dict__
    assert (fields["job_id"], fields["job_type"], fields["attempt"]) == (job_id, "letter", 1)


def test_the_worker_role_is_enough(
    dsn: str, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """Without the right to list queues there are no FIFO lines, and nothing else is missing."""
    as_worker = psycopg.conninfo.make_conninfo(dsn, options="-c role=pgbaton_worker")
    worker = Worker(as_worker)
    worker.handler("orders")(lambda job: job.payload)
    job_id = client.enqueue_job("orders", 7, singleton_key="a")
    with running(worker):
        wait_for_state(client, job_id, "completed")
    assert client.get_job(job_id).result == 7


@pytest.mark.parametrize(
    ("completes", "may_look", "warns"),
    [("itself", True, False), ("itself", False, True), ("another", True, True)],
)
def test_a_job_that_was_completed_before_its_handler_returns(
    dsn: str,
    client: Client,
    caplog: pytest.LogCaptureFixture,
    completes: str,
    may_look: bool,
    warns: bool,
) -> None:
    """Under the claim of the handler that is no news; under another one its outcome is lost."""
    role = "pgbaton_operator" if may_look else "pgbaton_worker"
    as_role = psycopg.conninfo.make_conninfo(dsn, options=f"-c role={role}")
    # With room for one job it does not take the same one again.
    worker = Worker(as_role, capacity=1 if completes == "another" else 10)

    @worker.handler("mail")
    def handle(job: RunningJob) -> None:
        token = job.lease_token
        if completes == "another":
            client.mark_worker_unresponsive(worker.worker_id)
            [claimed] = client.claim_job_batch("another", ["mail"])
            token = claimed.lease_token
        client.complete_job(job.id, {"by": completes}, token)

    ids = client.enqueue_batch("mail", range(1 if completes == "another" else 5))
    with caplog.at_level(logging.INFO, "pgbaton.worker"), running(worker):
        for job_id in ids:
            wait_for_state(client, job_id, "completed")
    assert {client.get_job(job_id).result["by"] for job_id in ids} == {completes}
    dropped = [record for record in caplog.records if record.levelno > logging.INFO]
    assert len(dropped) == (len(ids) if warns else 0)
    assert all("invalid_state" in record.getMessage() for record in dropped)


def test_no_field_has_a_name_that_others_overwrite(
    dsn: str, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """What structlog, its like and the formatters of logging put there themselves."""
    taken = {"event", "level", "logger", "timestamp", "message", "asctime", "exception", "stack"}
    plain = logging.makeLogRecord({}).__dict__.keys()
    worker = Worker(dsn)

    @worker.handler("mail", "fail")
    def handle(job: RunningJob) -> None:
        raise ValueError

    worker.handler("orders")(lambda job: None)
    failed = client.enqueue_job("mail", job_type="fail", max_attempts=2)
    client.enqueue_job("orders", singleton_key="a", job_type="unknown")
    with caplog.at_level(logging.DEBUG, "pgbaton.worker"), running(worker):
        wait_for_state(client, failed, "failed")
    added = {
        name
        for record in caplog.records
        if record.name == "pgbaton.worker"
        for name in record.__dict__.keys() - plain - {"message", "asctime"}
    }
    assert {"pgbaton_event", "worker_id", "job_id", "queue", "attempt", "max_attempts"} <= added
    assert added.isdisjoint(taken)


def test_an_error_that_no_file_could_take_is_logged_all_the_same(
    dsn: str, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker(dsn)

    @worker.handler("mail")
    def handle(job: RunningJob) -> None:
        raise ValueError("half a pair: \ud800")

    with caplog.at_level(logging.INFO, "pgbaton.worker"), running(worker):
        wait_for_state(client, client.enqueue_job("mail", max_attempts=1), "failed")
    caplog.text.encode()
    assert "half a pair: \\ud800" in caplog.text
    assert "in handle" in caplog.text  # the traceback is there
