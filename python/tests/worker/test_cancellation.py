"""Cancelling a job that runs: the handler hears of it, and the server of what it did."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import process_handlers
import pytest
from workers import running, wait_for_state, wait_until

import pgbaton
from pgbaton import Client, JobInfo, RunningJob, Worker


@pytest.fixture
def worker(dsn: str, client: Client) -> Worker:
    return Worker(dsn)


def cancelled(
    client: Client, worker: Worker, has_begun: Callable[[int], Any] | None = None
) -> JobInfo:
    """What becomes of a job that is cancelled while its handler runs."""
    first = client.enqueue_job("orders", "hang", singleton_key="a")
    after = client.enqueue_job("orders", "fine", singleton_key="a")
    with running(worker):
        wait_for_state(client, first, "active")
        if has_begun is not None:
            wait_until(lambda: has_begun(first))
        assert client.cancel_jobs(job_ids=[first]).cancelled_job_ids == [first]
        wait_until(lambda: client.get_job(first).finished_at)
        # Its key goes on.
        wait_for_state(client, after, "completed")
    return client.get_job(first)


def test_an_async_handler_is_cancelled(client: Client, worker: Worker) -> None:
    seen: list[str] = []

    @worker.handler("orders")
    async def handle(job: RunningJob) -> None:
        if job.payload == "hang":
            try:
                await asyncio.Event().wait()
            finally:
                seen.append("cleaned up")

    assert cancelled(client, worker).state == "stopped"
    assert seen == ["cleaned up"]


def test_a_sync_handler_sees_that_it_should_stop(client: Client, worker: Worker) -> None:
    @worker.handler("orders")
    def handle(job: RunningJob) -> None:
        if job.payload == "hang":
            wait_until(lambda: job.cancel_requested)

    assert cancelled(client, worker).state == "stopped"


def test_a_sync_handler_stops_by_an_exception(client: Client, worker: Worker) -> None:
    @worker.handler("orders")
    def handle(job: RunningJob) -> None:
        while job.payload == "hang":
            job.raise_if_cancelled()
            threading.Event().wait(0.01)

    job = cancelled(client, worker)
    assert (job.state, job.error_message) == ("stopped", None)


def test_a_process_handler_is_killed(client: Client, worker: Worker) -> None:
    worker.handler("orders", process=True)(process_handlers.work)
    # It says so itself when it hangs.
    job = cancelled(client, worker, lambda job_id: client.get_job(job_id).current_stage)
    assert (job.state, job.progress, job.current_stage) == ("stopped", 50, "hanging")


def test_a_handler_that_did_not_look_is_believed_to_have_finished(
    client: Client, worker: Worker
) -> None:
    @worker.handler("orders")
    def handle(job: RunningJob) -> str:
        if job.payload == "hang":
            wait_until(lambda: job._run.cancel_reason)
        return "all of it"

    job = cancelled(client, worker)
    assert (job.state, job.result) == ("completed", "all of it")


def test_a_handler_that_fails_while_it_is_cancelled_is_stopped_with_its_error(
    client: Client, worker: Worker
) -> None:
    @worker.handler("orders")
    async def handle(job: RunningJob) -> None:
        if job.payload == "hang":
            try:
                await asyncio.Event().wait()
            finally:
                raise ValueError("the cleanup failed")

    job = cancelled(client, worker)
    assert (job.state, job.retry_count) == ("stopped", 1)
    assert "the cleanup failed" in (job.error_message or "")


@pytest.mark.parametrize("error", [ValueError("no"), pgbaton.Snooze("1 hour")])
def test_a_job_that_was_cancelled_unheard_is_stopped(
    client: Client, worker: Worker, error: Exception
) -> None:
    """The handler ends with an outcome that a cancelled job does not take."""

    @worker.handler("orders")
    def handle(job: RunningJob) -> None:
        if job.payload == "hang":
            client.cancel_jobs(job_ids=[job.id])
            raise error

    first = client.enqueue_job("orders", "hang", singleton_key="a")
    after = client.enqueue_job("orders", "fine", singleton_key="a")
    with running(worker):
        wait_for_state(client, first, "stopped")
        wait_for_state(client, after, "completed")


def test_progress_is_told_and_answered(client: Client, worker: Worker) -> None:
    """The latest of what is said gets through, also from an async handler."""
    go_on = threading.Event()

    @worker.handler("mail")
    async def handle(job: RunningJob) -> None:
        job.report_progress(10, "begun")
        job.report_progress(20)
        job.report_progress(events_count=7)
        while not go_on.is_set():
            await asyncio.sleep(0.01)

    job_id = client.enqueue_job("mail")
    with running(worker):
        job = wait_until(lambda: (j := client.get_job(job_id)).progress and j)
        assert (job.progress, job.current_stage, job.events_count) == (20, "begun", 7)
        go_on.set()
        wait_for_state(client, job_id, "completed")
