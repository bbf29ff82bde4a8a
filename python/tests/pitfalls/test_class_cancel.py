"""Cancel: at every moment of a job's life."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from calls import fail, run_all, state
from sessions import Clock, Session

Sound = Callable[[], None]


def cancel(db: Session, *jobs: int) -> tuple[list[int], list[int]]:
    """The ids that are cancelled or being cancelled, and those that are not."""
    (answer,) = db.rows("select * from pgbaton.cancel_jobs(job_ids => %s)", list(jobs))
    return answer


def acknowledge(db: Session, job: int, token: int) -> None:
    db.rows("select pgbaton.acknowledge_cancellation(%s, true, %s)", job, token)


def test_a_waiting_job(fifo: Session, sound: Sound) -> None:
    first, waiting, last = (fifo.enqueue("q", "k") for _ in range(3))
    assert cancel(fifo, waiting) == ([waiting], [])
    assert state(fifo, waiting) == "unscheduled"
    assert run_all(fifo) == [first, last]
    sound()


def test_a_running_job_whose_worker_acknowledges(fifo: Session, sound: Sound) -> None:
    fifo.rows("select pgbaton.worker_heartbeat(%s)", f"worker {fifo.pid}")
    job, sibling = fifo.enqueue("q", "k"), fifo.enqueue("q", "k")
    claimed = fifo.claim("q")
    assert cancel(fifo, job) == ([job], [])
    assert fifo.one("select pgbaton.worker_heartbeat(%s)", f"worker {fifo.pid}") == [job]
    assert fifo.claim("q") == {}
    acknowledge(fifo, job, claimed[job])
    assert state(fifo, job) == "stopped"
    assert run_all(fifo) == [sibling]
    sound()


def test_a_running_job_whose_lease_ends(fifo: Session, clock: Clock, sound: Sound) -> None:
    job, sibling = fifo.enqueue("q", "k"), fifo.enqueue("q", "k")
    claimed = fifo.claim("q", lease="1 minute")
    cancel(fifo, job)
    clock.advance("59 seconds")
    assert fifo.claim("q") == {}
    clock.advance("2 seconds")
    assert list(fifo.claim("q")) == [sibling]
    assert state(fifo, job) == "unknown_stopped"
    assert fifo.complete(claimed) == ["ok"]  # it was done after all, and says so late
    assert state(fifo, job) == "completed"
    sound()


def test_a_job_that_waits_to_be_retried(fifo: Session, clock: Clock, sound: Sound) -> None:
    job, sibling = fifo.enqueue("q", "k"), fifo.enqueue("q", "k")
    assert fail(fifo, fifo.claim("q")) == "retry"
    assert cancel(fifo, job) == ([job], [])
    assert state(fifo, job) == "stopped"
    clock.advance("1 minute")
    assert run_all(fifo) == [sibling]
    sound()


def test_a_head_with_siblings(fifo: Session, sound: Sound) -> None:
    head, second, third = (fifo.enqueue("q", "k") for _ in range(3))
    assert cancel(fifo, head) == ([head], [])
    claimed = fifo.claim("q")
    assert list(claimed) == [second]  # one of them, the next
    assert fifo.complete(claimed) == ["ok"]
    assert run_all(fifo) == [third]
    sound()


def test_twice(fifo: Session, sound: Sound) -> None:
    running, waiting, last = (fifo.enqueue("q", "k") for _ in range(3))
    claimed = fifo.claim("q")
    assert cancel(fifo, running, waiting) == ([running, waiting], [])
    assert cancel(fifo, running, waiting) == ([running], [waiting])
    acknowledge(fifo, running, claimed[running])
    again = fifo.refusal(
        "select pgbaton.acknowledge_cancellation(%s, true, %s)", running, claimed[running]
    )
    assert again in ("PB003", "PB004")
    assert cancel(fifo, running, waiting) == ([], [running, waiting])
    assert run_all(fifo) == [last]
    sound()


@pytest.mark.parametrize("order", ["completed, then cancelled", "cancelled, then completed"])
def test_around_completion(fifo: Session, sound: Sound, order: str) -> None:
    job, sibling = fifo.enqueue("q", "k"), fifo.enqueue("q", "k")
    claimed = fifo.claim("q")
    if order == "completed, then cancelled":
        assert fifo.complete(claimed) == ["ok"]
        assert cancel(fifo, job) == ([], [job])
    else:
        assert cancel(fifo, job) == ([job], [])
        assert fifo.complete(claimed) == ["ok"]
    assert state(fifo, job) == "completed"
    assert run_all(fifo) == [sibling]
    sound()
