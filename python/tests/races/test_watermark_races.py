"""The watermark of a lane never passes by a job for good, whoever commits when."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from invariants import UNREACHABLE
from sessions import Clock, Session

Open = Callable[[], Session]
Sound = Callable[[], None]


@pytest.fixture(autouse=True)
def queue(db: Session, clock: Clock) -> None:
    db.rows("select pgbaton.create_queue('q', lease => '10 years')")
    db.enqueue("q")
    assert db.complete(db.claim("q")) == ["ok"]


def work_off(db: Session, clock: Clock, step: str = "1 second") -> None:
    """A thousand jobs come and go, enough for the watermark to follow if it may."""
    for _ in range(3):
        db.rows("select count(pgbaton.enqueue_job('q')) from generate_series(1, 300)")
        clock.advance(step)
        for _ in range(3):
            claimed = db.claim("q", 100)
            assert len(claimed) == 100
            assert set(db.complete(claimed)) == {"ok"}
    db.enqueue("q")
    clock.advance(step)
    assert db.complete(db.claim("q", 1)) == ["ok"]


def watermark(db: Session) -> int:
    return db.one("select coalesce(max(value), 0) from pgbaton.watermark where kind = 'lane'")


def position(session: Session, job: int) -> int:
    return session.one("select position from pgbaton.span where lo = %s", job)


def sweep(db: Session, clock: Clock) -> dict[str, int]:
    clock.advance("11 seconds")
    return db.one("select pgbaton.run_maintenance()")


def test_it_follows_the_work(db: Session, clock: Clock) -> None:
    """Else the tests below would test nothing."""
    work_off(db, clock)
    assert watermark(db) > 64 * 600


@pytest.mark.parametrize("producer_end", ["commit", "rollback"])
def test_it_waits_for_a_producer_that_drew_its_position(
    db: Session, open_session: Open, clock: Clock, sound: Sound, producer_end: str
) -> None:
    producer = open_session()
    producer.begin()
    job = producer.enqueue("q")
    work_off(db, clock)
    assert watermark(db) <= position(producer, job)
    producer.end(producer_end)
    assert list(db.claim("q")) == ([job] if producer_end == "commit" else [])
    work_off(db, clock)
    assert watermark(db) > 64 * 600
    sound()


@pytest.mark.parametrize("producer_end", ["commit", "rollback"])
def test_a_job_that_a_very_long_transaction_commits_behind_it_is_found_by_the_next_sweep(
    db: Session, open_session: Open, clock: Clock, sound: Sound, producer_end: str
) -> None:
    producer = open_session()
    producer.begin()
    job = producer.enqueue("q")
    work_off(db, clock, "6 seconds")
    assert watermark(db) > position(producer, job)
    sweep(db, clock)
    work_off(db, clock, "6 seconds")
    producer.end(producer_end)
    sweep(db, clock)
    assert db.rows(UNREACHABLE) == []
    assert list(db.claim("q")) == ([job] if producer_end == "commit" else [])
    sound()


def test_it_follows_in_spite_of_an_unrelated_long_transaction(
    db: Session, open_session: Open, clock: Clock, sound: Sound
) -> None:
    stranger = open_session()
    stranger.begin()
    stranger.one("select pg_current_xact_id()::text")
    work_off(db, clock, "6 seconds")
    assert watermark(db) > 64 * 600
    sweep(db, clock)
    sound()


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read"])
def test_a_claim_that_moves_it_and_stays_open_hides_no_job_from_the_sweep(
    db: Session, open_session: Open, clock: Clock, sound: Sound, isolation: str
) -> None:
    """The sweep cannot see a watermark that is not committed yet: it must look again later."""
    producer, claimer = open_session(), open_session()
    producer.begin()
    job = producer.enqueue("q")
    place = position(producer, job)
    work_off(db, clock)
    assert watermark(db) <= place
    clock.advance("6 seconds")
    db.enqueue("q")
    sweep(db, clock)
    claimer.begin(isolation)
    assert len(claimer.claim("q", 1)) == 1
    assert watermark(claimer) > place
    producer.commit()
    assert "skipped" not in sweep(db, clock)
    claimer.commit()
    sweep(db, clock)
    assert db.rows(UNREACHABLE) == []
    assert list(db.claim("q")) == [job]
    sound()


@pytest.mark.parametrize(
    "way_back",
    ["release", "recovery", "worker given up", "rolled-back claim", "rolled-back delete"],
)
def test_a_job_that_comes_back_behind_it_is_found_at_once(
    db: Session, open_session: Open, clock: Clock, sound: Sound, way_back: str
) -> None:
    job = db.enqueue("q")
    other = open_session()
    if way_back.startswith("rolled-back"):
        other.begin()
    if way_back == "rolled-back delete":
        other.rows("select pgbaton.delete_job('q', %s)", job)
    else:
        claimed = other.claim("q", 1, "1 hour" if way_back == "recovery" else None)
        assert list(claimed) == [job]
    work_off(db, clock)
    if not way_back.startswith("rolled-back"):
        assert watermark(db) > 64 * 600

    if way_back == "release":
        db.rows("select pgbaton.release_jobs(array[%s], %s)", job, claimed[job])
    elif way_back == "recovery":
        clock.advance("2 hours")
    elif way_back == "worker given up":
        db.rows("select pgbaton.mark_worker_unresponsive(%s)", f"worker {other.pid}")
    else:
        other.rollback()
    later = db.enqueue("q")
    assert list(db.claim("q", 1)) == [job]
    assert list(db.claim("q", 2)) == [later]
    assert db.rows(UNREACHABLE) == []
    sound()


def test_a_release_is_not_lost_to_a_claim_that_tidies_up_behind_it(
    db: Session, open_session: Open, clock: Clock, sound: Sound
) -> None:
    """The rewind of a release commits between the claim's look for work and its tidying."""
    first, second = db.enqueue("q"), db.enqueue("q")
    claimed = db.claim("q", 1) | db.claim("q", 1)
    assert list(claimed) == [first, second]
    work_off(db, clock)
    assert watermark(db) > 64 * 600

    release = "select verdict from pgbaton.release_jobs(array[%s], %s)"
    releaser, gate, claimer = open_session(), open_session(), open_session()
    assert db.one(release, second, claimed[second]) == "ok"
    releaser.begin()
    assert releaser.one(release, first, claimed[first]) == "ok"
    gate.begin()
    # Others may still read rewind, so the claim comes as far as to delete from it.
    locking = gate.start("lock table pgbaton.rewind in exclusive mode").until_blocked(releaser)
    waiting = claimer.start("select id from pgbaton.claim_job_batch('w', batch_size => 1)")
    waiting.until_blocked(gate)
    releaser.commit()
    locking.rows()
    gate.rollback()
    assert waiting.one() == second
    assert db.rows(UNREACHABLE) == []
    assert list(db.claim("q")) == [first]
    sound()


@pytest.mark.parametrize("way_back", ["release", "worker given up"])
def test_jobs_that_came_back_behind_it_may_be_claimed_bit_by_bit(
    db: Session, clock: Clock, sound: Sound, way_back: str
) -> None:
    jobs = db.enqueue_batch("q", 6)
    (token,) = set(db.claim("q", 6).values())
    work_off(db, clock)
    assert watermark(db) > 64 * 600
    if way_back == "release":
        db.rows("select pgbaton.release_jobs(%s, %s)", jobs, token)
    else:
        db.rows("select pgbaton.mark_worker_unresponsive(%s)", f"worker {db.pid}")
    for job in jobs:
        assert list(db.claim("q", 1)) == [job]
        assert db.rows(UNREACHABLE) == []
    assert db.claim("q", 1) == {}
    work_off(db, clock)
    assert db.rows("select from pgbaton.rewind") == []
    sound()


def test_one_that_an_older_transaction_moved_hides_no_job_from_the_sweep(
    db: Session, open_session: Open, clock: Clock, sound: Sound
) -> None:
    """The transaction that moves it began before the one that it passes by."""
    producer, claimer = open_session(), open_session()
    db.rows("select pgbaton.create_queue('other')")
    claimer.begin()
    claimer.one("select pg_current_xact_id()::text")
    producer.begin()
    job = producer.enqueue("q")
    db.enqueue_batch("q", 64 * 300)
    db.rows("select count(pgbaton.enqueue_job('q')) from generate_series(1, 300)")
    db.claim("other")  # notes how far positions were drawn
    clock.advance("6 seconds")
    for _ in range(3):
        claimed = claimer.claim("q", 9000)
        assert set(claimer.complete(claimed)) == {"ok"}
    assert watermark(claimer) > position(producer, job)
    claimer.commit()
    sweep(db, clock)
    producer.commit()
    sweep(db, clock)
    assert db.rows(UNREACHABLE) == []
    assert job in db.claim("q", 1)
    sound()


def test_a_clock_that_is_set_back_hides_nothing_that_is_due(
    db: Session, clock: Clock, sound: Sound
) -> None:
    db.rows("select pgbaton.create_queue('other')")
    clock.advance("1 day")
    for _ in range(3):
        db.enqueue("q")
        assert db.complete(db.claim("q")) == ["ok"]
        db.rows("select pgbaton.run_maintenance()")
        clock.advance("15 seconds")
    clock.advance("-1 day")
    scheduled = db.enqueue("q", delay="10 seconds")
    leased = db.enqueue("q")
    assert list(db.claim("q", lease="10 seconds")) == [leased]
    clock.advance("15 seconds")
    db.claim("other")  # sweeps
    assert set(db.claim("q")) == {scheduled, leased}
    sound()


def test_times_that_an_older_transaction_notes_hide_nothing_that_is_due(
    db: Session, open_session: Open, clock: Clock, sound: Sound
) -> None:
    """What it notes is later than its transaction id: another one may have come in between."""
    worker, claimer = open_session(), open_session()
    job = db.enqueue("q")
    claimed = worker.claim("q")
    claimer.begin()
    claimer.one("select pg_current_xact_id()::text")
    clock.advance("30 seconds")
    worker.begin()
    worker.rows("select pgbaton.fail_job(%s, 'no', %s, retry_in => '1 second')", job, claimed[job])
    clock.advance("30 seconds")
    assert claimer.claim("q") == {}
    claimer.commit()
    sweep(db, clock)
    worker.commit()
    sweep(db, clock)
    assert list(db.claim("q")) == [job]
    sound()


@pytest.mark.parametrize("gone", [[3], [1], [0, 3], [1, 2]])
@pytest.mark.parametrize("how", ["cancel", "reschedule", "change the priority of"])
def test_what_is_left_of_a_span_is_found_at_once(
    db: Session, clock: Clock, sound: Sound, how: str, gone: list[int]
) -> None:
    """The watermark stands at a span, which has the position of its last job, and jobs leave it."""
    db.rows("select pgbaton.create_queue('idle')")
    jobs = db.enqueue_batch("q", 4)
    db.rows(
        "select setval('pgbaton.position_seq', last_value + 64 * 300) from pgbaton.position_seq"
    )
    clock.advance("1 second")
    assert db.claim("idle") == {}  # notes up to where positions were drawn
    lane = db.one("select lane_id from pgbaton.ready_span where lo = %s", jobs[0])
    db.rows("select pgbaton._advance(%s, true, 0, 1)", lane)
    assert watermark(db) == position(db, jobs[0])
    ids = [jobs[n] for n in gone]
    if how == "cancel":
        db.rows("select pgbaton.cancel_jobs(job_ids => %s)", ids)
    elif how == "reschedule":
        for job in ids:
            db.rows("select pgbaton.reschedule_job('q', %s, pgbaton._now() + '1 hour')", job)
    else:
        db.rows("select pgbaton.change_priority('q', i, -1) from unnest(%s::bigint[]) as i", ids)
    assert db.conn.execute(UNREACHABLE).fetchall() == []
    left = [job for job in jobs if job not in ids]
    assert list(db.claim("q", len(left))) == left
    sound()
