"""Claims read release rows and rewinds from a floor below which nothing is left."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sessions import Clock, Session

Open = Callable[[], Session]
Sound = Callable[[], None]


@pytest.fixture(autouse=True)
def queue(db: Session) -> None:
    db.rows("select pgbaton.create_queue('q', lease => '10 years'), pgbaton.create_queue('other')")


def unsettled_from(session: Session) -> int | None:
    return session.one("select pgbaton._unsettled_from()")


def upkeep(db: Session, clock: Clock) -> None:
    """Others work; their claims note what was drawn, and raise the floor as far as it may be."""
    for _ in range(4):
        db.enqueue("other")
        clock.advance("1 second")
        db.complete(db.claim("other"))


def leave_the_front(session: Session, queue: str = "q") -> list[int]:
    """A row of jobs whose last one is cancelled: a rewind leads to what is left of it."""
    jobs = session.enqueue_batch(queue, 3)
    session.rows("select pgbaton.cancel_jobs(job_ids => array[%s::bigint])", jobs[-1])
    return jobs[:-1]


def last_number(db: Session) -> int:
    return db.one("select pg_sequence_last_value('pgbaton.baton_release_id_seq')")


def test_when_all_is_settled_nothing_is_read(db: Session, clock: Clock) -> None:
    """Else the tests below would test nothing."""
    leave_the_front(db)
    assert unsettled_from(db) is not None
    upkeep(db, clock)
    assert unsettled_from(db) is not None, "the rewind is there"
    db.rows("delete from pgbaton.rewind")
    upkeep(db, clock)
    assert unsettled_from(db) is None


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_it_waits_for_who_drew_a_number(
    db: Session, open_session: Open, clock: Clock, sound: Sound, end: str
) -> None:
    jobs = db.enqueue_batch("q", 3)
    writer = open_session()
    writer.begin()
    writer.rows("select pgbaton.cancel_jobs(job_ids => array[%s::bigint])", jobs[-1])
    number = last_number(db)
    leave_the_front(db, "other")
    db.rows("delete from pgbaton.rewind")
    upkeep(db, clock)
    assert (unsettled_from(db) or number + 1) <= number
    writer.end(end)
    assert list(db.claim("q")) == (jobs[:-1] if end == "commit" else jobs)
    sound()


def test_who_deleted_a_row_may_take_that_back(
    db: Session, open_session: Open, clock: Clock, sound: Sound
) -> None:
    jobs = leave_the_front(db)
    number = db.one("select max(id) from pgbaton.rewind")
    upkeep(db, clock)
    deleter = open_session()
    deleter.begin()
    deleter.rows("delete from pgbaton.rewind")
    deleter.rows("select pgbaton._raise_release_floor(0)")
    upkeep(deleter, clock)
    assert (unsettled_from(db) or number + 1) <= number
    deleter.rollback()
    upkeep(db, clock)
    assert (unsettled_from(db) or number + 1) <= number
    assert list(db.claim("q")) == jobs
    sound()


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_an_older_snapshot_goes_by_what_it_sees(
    db: Session, open_session: Open, clock: Clock, isolation: str
) -> None:
    leave_the_front(db)
    number = db.one("select max(id) from pgbaton.rewind")
    old = open_session()
    old.begin_with_snapshot(isolation)
    db.rows("delete from pgbaton.rewind")
    upkeep(db, clock)
    assert unsettled_from(db) is None
    assert old.one("select pgbaton._unsettled_from()") <= number
    # And moves the floor neither down nor up.
    old.rows("select pgbaton._raise_release_floor(1000000)")
    old.rollback()
    assert unsettled_from(db) is None
    leave_the_front(db)
    assert unsettled_from(db) is not None
