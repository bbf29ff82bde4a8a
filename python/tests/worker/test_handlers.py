"""Handlers: which one gets a job, and what comes of how it ends."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from workers import running, wait_for_state, wait_until

from pgbaton import Client, RunningJob, Worker

HOUR = timedelta(hours=1)


@pytest.fixture
def worker(dsn: str, client: Client) -> Worker:
    return Worker(dsn, shutdown_timeout=timedelta(seconds=5))


def test_handlers_by_queue_and_job_type(client: Client, worker: Worker) -> None:
    seen: list[tuple[str, Any]] = []

    @worker.handler("mail", "letter")
    async def letter(job: RunningJob) -> None:
        seen.append(("letter", job.payload))

    @worker.handler("mail")
    def other(job: RunningJob) -> None:
        seen.append(("other", job.payload))

    @worker.handler("orders")
    async def order(job: RunningJob) -> str:
        seen.append((f"order {job.singleton_key}", job.payload))
        return "done"

    client.enqueue_job("mail", 1, job_type="letter")
    client.enqueue_job("mail", 2, job_type="bill")
    client.enqueue_job("mail", 3)
    last = client.enqueue_job("orders", 4, singleton_key="a")
    with running(worker):
        wait_for_state(client, last, "completed")
        wait_until(lambda: len(seen) == 4)
    assert sorted(seen) == [("letter", 1), ("order a", 4), ("other", 2), ("other", 3)]
    assert client.get_job(last).result == "done"
    assert client.queue_stats("mail")[0].completed == 3
