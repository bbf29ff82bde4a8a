"""Where a handler failed, as job_attempts has it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from workers import running, wait_until

import pgbaton
from pgbaton import Client, RunningJob, Worker

HOUR = timedelta(hours=1)


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("retry_in", [None, HOUR])
def test_where_a_handler_failed_is_kept(
    dsn: str, client: Client, keeps: bool, retry_in: timedelta | None
) -> None:
    """With the failures that are sent together, and with one that says when to run again."""
    worker = Worker(dsn, shutdown_timeout=timedelta(0), keep_stacks=keeps)

    class Trouble(Exception):
        pass

    @worker.handler("mail")
    def fails(job: RunningJob) -> None:
        try:
            raise KeyError("deep inside")
        except KeyError as cause:
            error: Exception = Trouble("no paper")
            if retry_in is not None:
                error = pgbaton.Retry("no paper", after=retry_in)
            raise error from cause

    job_id = client.enqueue_job("mail", max_attempts=2)
    with running(worker):
        wait_until(lambda: client.get_job(job_id).error_message)
    attempt = client.job_attempts(job_id)[-1]
    assert (attempt.attempt, attempt.outcome, attempt.worker_id) == (1, "failed", worker.worker_id)
    assert attempt.error_message is not None
    assert "no paper" in attempt.error_message
    has_stack = keeps and retry_in is None  # a Retry says what it has to say
    assert (attempt.error_stack is not None) == has_stack
    if attempt.error_stack is not None:
        assert "KeyError: 'deep inside'" in attempt.error_stack
        assert "in fails" in attempt.error_stack
