"""Claims side by side: left open, rolled back, and with a worker that dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from time import monotonic

import pytest
from sessions import SECONDS, Clock, Session

Open = Callable[[], Session]
Sound = Callable[[], None]


@pytest.fixture(params=["bulk", "one by one", "keyed"])
def jobs(request: pytest.FixtureRequest, db: Session) -> list[int]:
    """Three hundred jobs of queue q in line."""
    keys = None
    if request.param == "keyed":
        db.rows("select pgbaton.create_fifo_queue('q')")
        keys = [f"key {n}" for n in range(300)]
    else:
        db.rows("select pgbaton.create_queue('q')")
    if request.param == "one by one":
        return [db.enqueue("q") for _ in range(300)]
    return db.enqueue_batch("q", 300, keys)


@pytest.mark.parametrize("size", [1, 16, 40, 64])
def test_claims_that_are_left_open_get_different_jobs(
    jobs: list[int], open_session: Open, sound: Sound, size: int
) -> None:
    """Also where each takes from the front of a span, or all of it."""
    workers = [open_session() for _ in range(4)]
    got = []
    for worker in workers:
        worker.never_waits()
        worker.begin()
        got.append(list(worker.claim("q", size)))
    assert [len(claimed) for claimed in got] == [size] * 4
    assert len({job for claimed in got for job in claimed}) == 4 * size
    for worker in workers:
        worker.commit()
    sound()
    rest = workers[0].claim("q", 300)
    assert sorted([*rest, *(job for claimed in got for job in claimed)]) == jobs
    sound()


def test_four_workers_side_by_side_all_get_work(
    jobs: list[int], open_session: Open, sound: Sound
) -> None:
    workers = [open_session() for _ in range(4)]
    got: dict[int, list[int]] = {worker.pid: [] for worker in workers}
    while True:
        calls = [
            worker.start("select id, lease_token from pgbaton.claim_job_batch('w')")
            for worker in workers
        ]
        claims = [(call.session, dict(call.rows())) for call in calls]
        for worker, claimed in claims:
            got[worker.pid] += claimed
        done = [
            worker.start(
                "select verdict from pgbaton.complete_jobs(%s, %s)",
                list(claimed),
                next(iter(claimed.values()), None),
            )
            for worker, claimed in claims
        ]
        assert {row[0] for call in done for row in call.rows()} <= {"ok"}
        if not any(claimed for _, claimed in claims):
            break
    assert sorted(job for mine in got.values() for job in mine) == jobs
    assert all(len(mine) >= 20 for mine in got.values()), got
    sound()


def test_a_claim_that_is_rolled_back_puts_its_jobs_back_in_their_place(
    jobs: list[int], db: Session, open_session: Open, sound: Sound
) -> None:
    one = open_session()
    assert one.claim("q", 5)
    one.begin()
    assert list(one.claim("q", 100)) == jobs[5:105]
    one.rollback()
    sound()
    assert db.one("select max(attempt) from pgbaton.span where state = 'pending'") == 0
    assert list(one.claim("q", 295)) == jobs[5:]


def test_a_claim_in_a_savepoint_that_is_rolled_back(
    jobs: list[int], open_session: Open, sound: Sound
) -> None:
    one, two = open_session(), open_session()
    one.begin()
    one.rows("savepoint before")
    one.claim("q", 70)
    one.rows("rollback to before")
    assert list(one.claim("q", 3)) == jobs[:3]
    two.never_waits()
    assert two.claim("q", 5)
    one.commit()
    sound()


CLAIM_AND_HANG = """
import sys, psycopg
conn = psycopg.connect(sys.argv[1], autocommit=True)
conn.execute("set application_name = 'doomed'")
if sys.argv[2] == "open":
    conn.execute("begin")
rows = conn.execute(
    "select id from pgbaton.claim_job_batch('w', array['q'], batch_size => 3, lease => '1 minute')"
).fetchall()
print(*(row[0] for row in rows), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("transaction", ["open", "committed"])
@pytest.mark.parametrize("killed", ["client", "backend"])
def test_a_worker_killed_after_its_claim(
    jobs: list[int],
    db: Session,
    races_dsn: str,
    clock: Clock,
    sound: Sound,
    transaction: str,
    killed: str,
) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", CLAIM_AND_HANG, races_dsn, transaction],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        got = [int(job) for job in worker.stdout.readline().split()]
        assert got == jobs[:3]
        if killed == "client":
            os.kill(worker.pid, signal.SIGKILL)
        else:
            db.rows(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where application_name = 'doomed'"
            )
        until_gone(db)
    finally:
        worker.kill()
        worker.communicate()
    sound()

    if transaction == "open":
        assert list(db.claim("q", 3)) == jobs[:3]
        return
    # Committed, so it holds its jobs until the lease ends; then they come before all others.
    assert db.claim("q", 3).keys().isdisjoint(got)
    clock.advance("61 seconds")
    again = db.claim("q", 3)
    assert list(again) == got
    attempts = db.rows("select attempt from pgbaton.live_jobs where id = any (%s)", got)
    assert attempts == [(2,)] * 3
    assert db.complete(again) == ["ok"] * 3
    sound()


def until_gone(db: Session) -> None:
    give_up = monotonic() + SECONDS
    while db.rows("select from pg_stat_activity where application_name = 'doomed'"):
        assert monotonic() < give_up, "the backend of the killed worker is still there"


def test_a_job_that_kills_its_worker_every_time_ends_as_failed(
    db: Session, clock: Clock, sound: Sound
) -> None:
    db.rows("select pgbaton.create_fifo_queue('q', max_attempts => 3)")
    poison, sibling = db.enqueue("q", "k"), db.enqueue("q", "k")
    for _ in range(3):
        assert list(db.claim("q", 10, "1 minute")) == [poison]
        clock.advance("61 seconds")
    assert db.claim("q") == {}
    assert db.rows("select id, state::text, attempt from pgbaton.jobs order by id") == [
        (poison, "failed", 3),
        (sibling, "waiting", 0),
    ]
    assert db.rows("select get_blocked_keys from pgbaton.get_blocked_keys('q')") == [("k",)]
    sound()


@pytest.mark.parametrize("queue", ["standard", "fifo"])
def test_a_late_worker_is_accepted_until_its_job_is_claimed(
    db: Session, open_session: Open, clock: Clock, sound: Sound, queue: str
) -> None:
    key = None
    if queue == "standard":
        db.rows("select pgbaton.create_queue('q')")
    else:
        db.rows("select pgbaton.create_fifo_queue('q')")
        key = ["a", "b"]
    first, second = db.enqueue_batch("q", 2, key)
    late = open_session()
    claimed = late.claim("q", 2, "1 minute")
    assert list(claimed) == [first, second]
    clock.advance("2 minutes")
    assert late.complete({first: claimed[first]}) == ["ok"]
    assert db.one("select pgbaton.recover_stale_jobs()") == 1
    holds_on = (
        "select verdict from pgbaton.extend_leases(array[%s], %s)",
        "select verdict from pgbaton.start_jobs(array[%s], %s)",
        "select verdict from pgbaton.release_jobs(array[%s], %s)",
    )
    ends = (
        "select verdict from pgbaton.complete_jobs(array[%s], %s)",
        "select verdict from pgbaton.fail_jobs(array[%s], array['no'], %s)",
    )
    for call in holds_on:
        assert late.one(call, second, claimed[second]) == "lease_lost"
    for call in ends:
        late.begin()
        assert late.one(call, second, claimed[second]) == "ok", "nobody else has it"
        late.rollback()
    again = db.claim("q")
    assert list(again) == [second]
    for call in (*holds_on, *ends):
        assert late.one(call, second, claimed[second]) == "lease_lost"
    assert late.one("select pgbaton.complete_claim(%s)", claimed[second]) == 0
    assert db.complete(again) == ["ok"]
    sound()


@pytest.mark.parametrize("winner", ["worker", "recovery"])
def test_a_late_completion_and_the_recovery_of_the_same_job(
    db: Session, open_session: Open, clock: Clock, sound: Sound, winner: str
) -> None:
    db.rows("select pgbaton.create_fifo_queue('q')")
    job, sibling = db.enqueue("q", "k"), db.enqueue("q", "k")
    late, claimer = open_session(), open_session()
    claimed = late.claim("q", 1, "1 minute")
    clock.advance("2 minutes")
    claimer.begin()
    if winner == "worker":
        late.begin()
        assert late.complete(claimed) == ["ok"]
        # The recovery in a claim passes by what the worker has locked.
        claimer.never_waits()
        assert claimer.claim("q") == {}
        late.commit()
        assert list(claimer.claim("q")) == [sibling]
    else:
        again = claimer.claim("q")
        assert list(again) == [job]
        waiting = late.start(
            "select verdict from pgbaton.complete_jobs(array[%s], %s)", job, claimed[job]
        ).until_blocked(claimer)
        claimer.commit()
        assert waiting.one() == "lease_lost"
        claimer.begin()
        assert claimer.complete(again) == ["ok"]
    claimer.commit()
    sound()


@pytest.mark.parametrize("claimer_end", ["commit", "rollback"])
def test_two_claims_that_recover_the_same_leases(
    db: Session, open_session: Open, clock: Clock, sound: Sound, claimer_end: str
) -> None:
    db.rows("select pgbaton.create_queue('q')")
    lost = db.enqueue_batch("q", 10)
    db.claim("q", 10, "1 minute")
    clock.advance("2 minutes")
    one, two = open_session(), open_session()
    two.never_waits()
    one.begin()
    assert list(one.claim("q", 4)) == lost[:4]
    assert two.claim("q", 10) == {}
    one.end(claimer_end)
    sound()
    assert list(two.claim("q", 10)) == lost[4 if claimer_end == "commit" else 0 :]
    sound()
