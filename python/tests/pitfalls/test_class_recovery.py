"""Recovery: whatever became of the worker or the server, each job runs, and none twice at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable

import psycopg
import pytest
from calls import run_all
from proof import record
from sessions import Clock, Session

from pgbaton.embedded import temporary_server
from pgbaton.install import install

Open = Callable[[], Session]
Sound = Callable[[], None]

CLAIM_AND_HANG = """
import sys, psycopg
with psycopg.connect(sys.argv[1], autocommit=True) as conn:
    query = "select id from pgbaton.claim_job_batch('doomed', array['q'], lease => '1 minute')"
    print(*conn.execute(query).fetchone(), flush=True)
    sys.stdin.read()
"""


def test_kill_9_in_the_middle_of_a_job(
    fifo: Session, races_dsn: str, clock: Clock, sound: Sound
) -> None:
    job, sibling = fifo.enqueue("q", "k"), fifo.enqueue("q", "k")
    with subprocess.Popen(
        [sys.executable, "-c", CLAIM_AND_HANG, races_dsn],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stdout is not None
        assert int(worker.stdout.readline()) == job
        os.kill(worker.pid, signal.SIGKILL)
    assert worker.returncode == -signal.SIGKILL
    assert fifo.claim("q") == {}
    clock.advance("61 seconds")
    assert run_all(fifo) == [job, sibling]
    attempts = "select attempt from pgbaton.finished_jobs order by id"
    assert fifo.rows(attempts) == [(2,), (1,)]
    sound()
    record("kill_9_in_the_middle_of_a_job", crashes_injected=1)


@pytest.mark.parametrize("meanwhile", ["nothing", "recovered", "claimed"])
def test_a_pause_of_three_leases_then_finish(
    fifo: Session, clock: Clock, sound: Sound, meanwhile: str
) -> None:
    job, sibling = fifo.enqueue("q", "k"), fifo.enqueue("q", "k")
    paused = fifo.claim("q", lease="1 minute")
    clock.advance("3 minutes")
    if meanwhile == "claimed":
        again = fifo.claim("q")
        assert list(again) == [job]
        assert fifo.complete(paused) == ["lease_lost"]
        assert fifo.complete(again) == ["ok"]
    else:
        # Nobody else has it: what was done counts.
        if meanwhile == "recovered":
            assert fifo.one("select pgbaton.recover_stale_jobs()") == 1
        assert fifo.complete(paused) == ["ok"]
        assert fifo.complete(paused) == ["invalid_state"]
    assert run_all(fifo) == [sibling]
    sound()


HOLD = {
    "start_jobs": "select verdict from pgbaton.start_jobs(array[%(job)s::bigint], %(token)s)",
    "extend_leases": "select verdict from pgbaton.extend_leases(array[%(job)s::bigint], %(token)s)",
    "release_jobs": "select verdict from pgbaton.release_jobs(array[%(job)s::bigint], %(token)s)",
    "report_progress": "select pgbaton.report_progress(%(job)s, %(token)s, 50)",
    "acknowledge": "select pgbaton.acknowledge_cancellation(%(job)s, true, %(token)s)",
}
END = {
    "complete_claim": ("select pgbaton.complete_claim(%(token)s)", "completed"),
    "fail_job": ("select pgbaton.fail_job(%(job)s, 'no', %(token)s)", "retry"),
    "stop_job": ("select pgbaton.stop_job(%(job)s, 'no', %(token)s)", "stopped"),
}


@pytest.mark.parametrize("end", END)
@pytest.mark.parametrize("by", ["recover_stale_jobs()", "run_maintenance()"])
def test_an_ended_lease_is_good_for_an_end_of_the_job_and_for_nothing_else(
    fifo: Session, clock: Clock, sound: Sound, by: str, end: str
) -> None:
    job, sibling = fifo.enqueue("q", "k"), fifo.enqueue("q", "k")
    token = fifo.claim("q", lease="1 minute")[job]
    clock.advance("3 minutes")
    fifo.rows(f"select pgbaton.{by}")  # type: ignore[arg-type]
    for name, call in HOLD.items():
        asked = fifo.start(call, job=job, token=token)  # type: ignore[arg-type]
        assert (asked.refusal() or asked.one()) in ("PB004", "lease_lost"), name
    query, state = END[end]
    fifo.rows(query, job=job, token=token)  # type: ignore[arg-type]
    assert fifo.one("select state::text from pgbaton.get_job(%s)", job) == state
    assert list(fifo.claim("q")) == ([] if state == "retry" else [sibling])
    sound()


@pytest.mark.parametrize("by", ["mark_worker_unresponsive", "reset_running_jobs"])
def test_what_somebody_took_from_a_worker_is_not_its_own_any_more(
    fifo: Session, by: str, sound: Sound
) -> None:
    job = fifo.enqueue("q", "k")
    claimed = fifo.claim("q")
    if by == "mark_worker_unresponsive":
        fifo.rows("select pgbaton.mark_worker_unresponsive(%s)", f"worker {fifo.pid}")
    else:
        fifo.rows("select pgbaton.reset_running_jobs()")
    assert fifo.complete(claimed) == ["lease_lost"]
    assert list(fifo.claim("q")) == [job]
    sound()


def test_a_late_end_and_a_claim_that_meet(fifo: Session, open_session: Open, clock: Clock) -> None:
    """Whoever comes first has it, whichever commits."""
    for end in ("commit", "rollback"):
        job = fifo.enqueue("q", end)
        old = fifo.claim("q", lease="1 minute")
        clock.advance("2 minutes")
        fifo.rows("select pgbaton.recover_stale_jobs()")
        claimer, late = open_session(), open_session()
        claimer.begin()
        assert list(claimer.claim("q")) == [job]
        waiting = late.start(
            "select verdict from pgbaton.complete_jobs(%s, %s)", [job], old[job]
        ).until_blocked(claimer)
        claimer.end(end)
        assert waiting.one() == ("lease_lost" if end == "commit" else "ok")


def test_restart_the_server() -> None:
    """What was committed is there afterwards, what ran runs on, and what was open is undone."""
    with temporary_server() as server:
        install(server.dsn())
        with psycopg.connect(server.dsn(), autocommit=True) as conn:
            db = Session(server.dsn(), conn)
            db.rows("select pgbaton.create_fifo_queue('q')")
            jobs = [db.enqueue("q", key) for key in ("a", "a", "b", "b")]
            claimed = db.claim("q", 1)
            open_claim = Session(server.dsn(), conn)
            open_claim.begin()
            assert list(open_claim.claim("q")) == [jobs[2]]
            server.stop()
            open_claim.close()
            db.close()
        server.start()
        with psycopg.connect(server.dsn(), autocommit=True) as conn:
            db = Session(server.dsn(), conn)
            assert list(db.claim("q", 1)) == [jobs[2]]
            assert db.complete(claimed) == ["ok"]
            assert run_all(db) == [jobs[1]]
            late = db.enqueue("q", "c")
            assert late not in jobs
            assert list(db.claim("q")) == [late]
            db.close()


@pytest.mark.parametrize("policy", ["fifo", "singleton", "stately"])
def test_recover_while_every_slot_is_taken(db: Session, clock: Clock, policy: str) -> None:
    """Every key has its one running job, all with dead workers: recovery needs no free slot."""
    db.rows("select pgbaton.create_queue('q', %s::text::pgbaton.queue_policy)", policy)
    keys = [f"key {n}" for n in range(20)]
    first = db.enqueue_batch("q", 20, keys)
    assert list(db.claim("q", 100, "1 minute")) == first
    second = db.enqueue_batch("q", 20, keys)
    assert db.claim("q", 100) == {}
    clock.advance("61 seconds")
    claimed = db.claim("q", 100)
    taken = db.rows("select singleton_key from pgbaton.live_jobs where state = 'active'")
    assert sorted(key for (key,) in taken) == sorted(keys)
    assert sorted(claimed) == first
    assert db.complete(claimed) == ["ok"] * 20
    assert sorted(db.claim("q", 100)) == second


def test_ten_thousand_unrecoverable_jobs_before_one_that_can_be_recovered(
    db: Session, open_session: Open, clock: Clock
) -> None:
    """A worker holds the rows of all of them in an open transaction."""
    db.rows("select pgbaton.create_queue('q', 'singleton')")
    db.enqueue_batch("q", 10_000, [f"key {n}" for n in range(10_000)])
    token = db.one(
        "select min(lease_token) from pgbaton.claim_job_batch('w', batch_size => 10000, "
        " lease => '1 minute')"
    )
    clock.advance("1 second")
    job = db.enqueue("q", "last")
    assert list(db.claim("q", lease="1 minute")) == [job]
    clock.advance("2 minutes")
    finishing = open_session()
    finishing.begin()
    assert finishing.one("select pgbaton.complete_claim(%s)", token) == 10_000
    db.never_waits()
    assert list(db.claim("q")) == [job]
    finishing.rollback()
