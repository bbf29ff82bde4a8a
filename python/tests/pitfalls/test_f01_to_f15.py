"""Rows F01 to F15 of the list of pitfalls: see docs/guarantees.md."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from calls import fail, run_all, state
from sessions import Clock, Session

Open = Callable[[], Session]
RunSpec = Callable[[str], None]
Sound = Callable[[], None]


def test_f01_swallowed_unique_violation(run_spec: RunSpec) -> None:
    run_spec("f01")


def test_f01_a_broken_key_is_set_aside(fifo: Session, sound: Sound) -> None:
    """Whatever broke the table by hand: the claim hands out the others, and health says so."""
    holder, second = fifo.enqueue("q", "k"), fifo.enqueue("q", "k")
    assert list(fifo.claim("q")) == [holder]
    fifo.rows(
        "update pgbaton.span set state = 'pending', ready = true, held_key = 'k' where lo = %s",
        second,
    )
    other = fifo.enqueue("q", "another key")
    assert list(fifo.claim("q")) == [other]
    assert (
        fifo.one("select status from pgbaton.health() where check_name = 'broken keys'") == "warn"
    )
    assert fifo.rows("select job_id from pgbaton.audit where action = 'set_aside'") == [(second,)]
    sound()


def test_f02_skip_locked_slide(run_spec: RunSpec) -> None:
    run_spec("f02")


def test_f03_snapshot_count_race(run_spec: RunSpec) -> None:
    run_spec("f03")


def test_f04_two_of_a_key_in_one_batch(fifo: Session, sound: Sound) -> None:
    jobs = fifo.enqueue_batch("q", 15, ["a", "b", "c"] * 5)
    claimed = fifo.claim("q", 100)
    assert list(claimed) == jobs[:3]
    first = {jobs[0]: claimed[jobs[0]]}
    assert fail(fifo, first, retry_in="1 hour") == "retry"
    rest = {job: token for job, token in claimed.items() if job not in first}
    assert fifo.complete(rest) == ["ok", "ok"]
    assert list(fifo.claim("q", 100)) == jobs[4:6]  # b and c go on, a waits for its retry
    sound()


def test_f05_priority_jump_inside_a_key(fifo: Session) -> None:
    slow, slower = (fifo.enqueue("q", "a", priority=level) for level in (10, 0))
    urgent = fifo.enqueue("q", "a", priority=1000)
    other = fifo.enqueue("q", "b", priority=100)
    # Priority orders the heads of keys; the urgent job comes after the slow ones of its key.
    assert run_all(fifo) == [other, slow, slower, urgent]
    said = fifo.one(
        "select obj_description(oid, 'pg_proc') from pg_proc"
        " where pronamespace = 'pgbaton'::regnamespace and proname = 'enqueue_job'"
    )
    assert "it orders keys, never jobs of one" in said


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("keyed", [True, False])
def test_f06_tie_order(fifo: Session, keyed: bool) -> None:
    """All of one transaction and one instant."""
    queue, key = ("q", "k") if keyed else ("plain", None)
    fifo.rows("select pgbaton.create_queue('plain')")
    fifo.begin()
    jobs = [fifo.enqueue(queue, key) for _ in range(10)]
    jobs += fifo.enqueue_batch(queue, 20, [key] * 20 if keyed else None)
    listed = fifo.rows(
        "select job_id, ordinal from pgbaton.enqueue_jobs(%s, (select jsonb_agg("
        "jsonb_build_object('payload', n, 'singleton_key', %s::text) order by n)"
        " from generate_series(1, 20) as n)) order by ordinal",
        queue,
        key,
    )
    jobs += [row[0] for row in listed]
    jobs += [fifo.enqueue(queue, key)]
    fifo.commit()
    assert fifo.one("select count(distinct created_at) from pgbaton.live_jobs") == 1
    assert run_all(fifo, queue) == jobs
    last = "select payload from pgbaton.finished_jobs where id = any (%s) order by id"
    assert [row[0] for row in fifo.rows(last, jobs[30:50])] == list(range(1, 21))


def test_f07_commit_order_inversion(run_spec: RunSpec) -> None:
    run_spec("f07")


def test_f08_retry_jump(fifo: Session, clock: Clock, sound: Sound) -> None:
    first, second, other = (fifo.enqueue("q", key) for key in ("a", "a", "b"))
    assert fail(fifo, fifo.claim("q", 1)) == "retry"
    assert list(fifo.claim("q")) == [other]
    clock.advance("9 seconds")
    assert fifo.claim("q") == {}
    clock.advance("1 second")
    assert run_all(fifo) == [first, second]
    sound()


def test_f09_retry_to_the_tail(fifo: Session, clock: Clock) -> None:
    jobs = [fifo.enqueue("q", "k") for _ in range(3)]
    place = fifo.one("select key_position from pgbaton.span where lo = %s", jobs[0])
    for attempt in (1, 2):
        claimed = fifo.claim("q")
        assert list(claimed) == [jobs[0]]
        assert fail(fifo, claimed) == "retry"
        jobs += [fifo.enqueue("q", "k")]
        now = "select attempt, key_position from pgbaton.span where lo = %s"
        assert fifo.rows(now, jobs[0]) == [(attempt, place)]
        clock.advance("10 seconds")
    assert run_all(fifo) == jobs
    assert fifo.one("select count(*) from pgbaton.jobs") == len(jobs)


@pytest.mark.parametrize("bulk", [False, True])
def test_f10_scheduled_head(fifo: Session, clock: Clock, bulk: bool) -> None:
    """The documented choice: it holds its key, and says so."""
    if bulk:
        head = fifo.one(
            "select pgbaton.enqueue_batch('q', '{1}', '{k}', run_at => pgbaton._now() + '1 day')"
        )
    else:
        head = fifo.enqueue("q", "k", delay="1 day")
    sibling, other = fifo.enqueue("q", "k"), fifo.enqueue("q", "other")
    assert run_all(fifo) == [other]
    reason = fifo.one("select pgbaton.why_not_running(%s)", sibling)
    assert f"waits behind job {head} of its key" in reason
    assert "runs not before" in reason
    ((key, job, due),) = fifo.rows(
        "select singleton_key, job_id, next_run_at - pgbaton._now()"
        " from pgbaton.blocked_keys('q', include_busy => true)"
    )
    assert (key, job, due.days) == ("k", head, 1)
    clock.advance("1 day")
    assert run_all(fifo) == [head, sibling]


def test_f11_retention_unblocks(db: Session, clock: Clock, sound: Sound) -> None:
    db.rows(
        "select pgbaton.create_fifo_queue('q', max_attempts => 1, retention => '0',"
        " dead_letter_retention => '1 day')"
    )
    failed, sibling = db.enqueue("q", "k"), db.enqueue("q", "k")
    assert fail(db, db.claim("q")) == "failed"
    for _ in range(3):
        clock.advance("20 days")
        db.rows("select pgbaton.run_maintenance()")
        db.rows("select pgbaton.cleanup_expired_jobs('1 day')")
        assert db.one("select pgbaton.purge_dead_jobs('q')") == 0
        assert db.claim("q") == {}
    sound()
    assert state(db, failed) == "failed"
    db.rows("select pgbaton.retry_job('q', %s)", failed)
    assert run_all(db) == [failed, sibling]


def test_f12_dead_letter_move_unblocks(fifo: Session) -> None:
    failed, sibling = fifo.enqueue("q", "k"), fifo.enqueue("q", "k")
    assert fail(fifo, fifo.claim("q"), retryable=False) == "failed"
    assert fifo.rows("select id, holds_key from pgbaton.list_dead_jobs('q')") == [(failed, True)]
    assert fifo.claim("q") == {}
    assert fifo.enqueue("q", "k") != failed
    assert fifo.claim("q") == {}
    assert str(failed) in fifo.one("select pgbaton.why_not_running(%s)", sibling)


def test_f13_redrive_position(fifo: Session, sound: Sound) -> None:
    jobs = [fifo.enqueue("q", "k") for _ in range(3)]
    assert fail(fifo, fifo.claim("q"), retryable=False) == "failed"
    jobs += [fifo.enqueue("q", "k")]
    fifo.rows("select pgbaton.retry_job('q', %s)", jobs[0])
    assert run_all(fifo) == jobs

    # To the tail only by the call that says so, and as a new job.
    jobs = [fifo.enqueue("q", "k") for _ in range(3)]
    assert fail(fifo, fifo.claim("q"), retryable=False) == "failed"
    anew = fifo.one("select pgbaton.requeue_dead_job(%s)", jobs[0])
    assert anew not in jobs
    assert run_all(fifo) == [*jobs[1:], anew]
    sound()


@pytest.mark.parametrize("end", ["acknowledged", "lease end"])
def test_f14_cancel_frees_early(fifo: Session, clock: Clock, sound: Sound, end: str) -> None:
    running, sibling = fifo.enqueue("q", "k"), fifo.enqueue("q", "k")
    ((_, token),) = fifo.claim("q", lease="1 minute").items()
    fifo.rows("select pgbaton.cancel_jobs(job_ids => array[%s::bigint])", running)
    assert state(fifo, running) == "cancelling"
    fifo.rows("select pgbaton.run_maintenance()")
    assert fifo.claim("q") == {}
    if end == "acknowledged":
        fifo.rows("select pgbaton.acknowledge_cancellation(%s, true, %s)", running, token)
    else:
        clock.advance("61 seconds")
    assert list(fifo.claim("q")) == [sibling]
    assert state(fifo, running) == ("stopped" if end == "acknowledged" else "unknown_stopped")
    sound()


ZOMBIE = {
    "complete_job": "select pgbaton.complete_job(%(job)s, null, %(token)s)",
    "complete_jobs": "select verdict from pgbaton.complete_jobs(array[%(job)s], %(token)s)",
    "complete_claim": "select pgbaton.complete_claim(%(token)s)",
    "fail_job": "select pgbaton.fail_job(%(job)s, 'no', %(token)s, retryable => false)",
    "fail_jobs": "select verdict from pgbaton.fail_jobs(array[%(job)s], array['no'], %(token)s)",
    "release_jobs": "select verdict from pgbaton.release_jobs(array[%(job)s], %(token)s)",
    "stop_job": "select pgbaton.stop_job(%(job)s, 'no', %(token)s)",
    "extend_leases": "select verdict from pgbaton.extend_leases(array[%(job)s], %(token)s)",
    "report_progress": "select pgbaton.report_progress(%(job)s, %(token)s, 50)",
}


@pytest.mark.parametrize("call", ZOMBIE)
def test_f15_zombie_unblocks(fifo: Session, clock: Clock, sound: Sound, call: str) -> None:
    job, sibling = fifo.enqueue("q", "k"), fifo.enqueue("q", "k")
    ((_, stale),) = fifo.claim("q", lease="1 minute").items()
    clock.advance("61 seconds")
    again = fifo.claim("q")
    assert list(again) == [job]
    before = fifo.rows("select * from pgbaton.span order by lo")
    refused = fifo.start(ZOMBIE[call], job=job, token=stale)
    if refused.refusal() is None:
        assert refused.one() in ("lease_lost", 0)
    else:
        assert refused.refusal() == "PB004"
    assert fifo.rows("select * from pgbaton.span order by lo") == before
    assert fifo.claim("q") == {}
    assert fifo.complete(again) == ["ok"]
    assert list(fifo.claim("q")) == [sibling]
    sound()
