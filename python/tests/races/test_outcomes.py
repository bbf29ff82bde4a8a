"""Who waits for the outcome of a job: it is there when the job has ended, whoever ends it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from time import monotonic

import pytest
from sessions import SECONDS, Session

from pgbaton import AsyncClient, Client, JobState

Open = Callable[[], Session]
WAIT = "select job_id, state from pgbaton.wait_for_outcomes(array[%s], '30 s')"


def until_asleep(db: Session, waiter: Session) -> None:
    give_up = monotonic() + SECONDS
    while monotonic() < give_up:
        if db.rows(
            "select 1 from pg_stat_activity where pid = %s and wait_event = 'PgSleep'", waiter.pid
        ):
            return
    raise AssertionError("it was never seen to wait")


@pytest.fixture
def job(db: Session) -> tuple[int, int]:
    """A job that runs, and its token."""
    db.rows("select pgbaton.create_queue('q')")
    db.enqueue("q")
    [(job, token)] = db.claim("q", 1).items()
    return job, token


@pytest.mark.parametrize(
    ("call", "state"),
    [
        ("complete_job(%s, lease_token => %s)", "completed"),
        ("fail_job(%s, 'no', %s, false)", "failed"),
        ("stop_job(%s, 'no', %s)", "stopped"),
        ("complete_jobs(array[%s], %s)", "completed"),
    ],
)
def test_a_wait_ends_with_the_commit_that_ends_the_job(
    db: Session, open_session: Open, job: tuple[int, int], call: str, state: str
) -> None:
    waiter, worker = open_session(), open_session()
    waiting = waiter.start(WAIT, job[0])
    until_asleep(db, waiter)
    worker.begin()
    worker.conn.execute(f"select pgbaton.{call}".encode(), job)
    until_asleep(db, waiter)
    worker.commit()
    assert waiting.rows() == [(job[0], state)]


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_an_old_snapshot_cannot_wait(db: Session, open_session: Open, level: str) -> None:
    db.rows("select pgbaton.create_queue('q')")
    job = db.enqueue("q")
    waiter = open_session()
    waiter.begin_with_snapshot(level)
    assert waiter.refusal(WAIT, job) == "55000"
    waiter.rollback()
    db.rows("select pgbaton.delete_job('q', %s)", job)
    waiter.begin(level)
    assert waiter.rows(WAIT, job) == [(job, "unscheduled")]


def test_a_client_waits(races_dsn: str, job: tuple[int, int]) -> None:
    with Client(races_dsn) as client, Client(races_dsn) as worker:
        assert client.wait_for_outcomes([job[0]], timedelta(0)) == []
        timer = threading.Timer(0.05, worker.complete_job, (job[0], {"n": 1}, job[1]))
        timer.start()
        [outcome] = client.wait_for_outcomes([job[0]])
        timer.join()
        assert (outcome.job_id, outcome.state) == (job[0], JobState.COMPLETED)
        assert outcome.result == {"n": 1}
        with pytest.raises(ValueError, match="a day at most"):
            client.wait_for_outcomes([job[0]], timedelta(days=2))
        with pytest.raises(TypeError, match="timedelta"):
            client.wait_for_outcomes([job[0]], 5)  # type: ignore[arg-type]


def test_many_wait_over_one_connection(db: Session, races_dsn: str) -> None:
    db.rows("select pgbaton.create_queue('q')")
    jobs = db.enqueue_batch("q", 50)
    tokens = db.claim("q", 50)

    async def all_of_them() -> list[int]:
        async with AsyncClient(races_dsn) as client, AsyncClient(races_dsn) as worker:
            waiters = [asyncio.create_task(client.wait_for_outcomes([job])) for job in jobs]
            for job in reversed(jobs):
                await worker.complete_job(job, lease_token=tokens[job])
            ended = await asyncio.gather(*waiters)
            count = db.one(
                "select count(*) from pg_stat_activity"
                " where application_name = 'pgbaton' and datname = current_database()"
            )
            assert count == 2
            return [outcome.job_id for [outcome] in ended]

    assert asyncio.run(all_of_them()) == jobs


def test_a_wait_whose_connection_is_lost_ends_with_an_error(
    db: Session, races_dsn: str, job: tuple[int, int]
) -> None:
    failed: list[str] = []
    with Client(races_dsn) as client:
        client.job_outcomes([])

        def wait() -> None:
            try:
                client.wait_for_outcomes([job[0]])
            except Exception as error:
                failed.append(type(error).__name__)

        thread = threading.Thread(target=wait)
        thread.start()
        db.rows(
            "select pg_terminate_backend(pid) from pg_stat_activity"
            " where application_name = 'pgbaton'"
        )
        thread.join(SECONDS)
        assert not thread.is_alive()
        assert len(failed) == 1
        assert client.wait_for_outcomes([job[0]], timedelta(0)) == [], "and can be called again"
