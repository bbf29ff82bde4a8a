"""Retention, schedules and health while other sessions are at work."""

from __future__ import annotations

from collections.abc import Callable
from typing import LiteralString

import pytest
from load import wait_until
from sessions import Clock, Session, Waiting

Open = Callable[[], Session]
Sound = Callable[[], None]


@pytest.fixture
def day(db: Session, clock: Clock) -> None:
    """A day of its own for each test, so that none sees the partitions of another."""
    db.rows(
        "update public.clock set instant = date_trunc('day', greatest(instant, ("
        "  select max(to_date(substring(c.relname from '[0-9]{8}$'), 'YYYYMMDD'))"
        "  from pg_class as c where c.relname ~ '^job_[0-9]{8}$'"
        ")), 'UTC') + interval '40 days 12 hours'"
    )
    db.rows("select pgbaton.run_maintenance()")
    db.stop_autovacuum()  # a day whose partition somebody uses is left for the next time


def partition(db: Session) -> str:
    return db.one("select to_char(pgbaton._day(pgbaton._now()), 'YYYYMMDD')")


def maintain(session: Session) -> dict[str, int]:
    return session.one("select pgbaton.run_maintenance()")


DROP: LiteralString = "select pgbaton._drop_day(pgbaton._day(pgbaton._now()) - %s, pgbaton._now())"


def drop(session: Session, days: int) -> Waiting:
    """As _drop_days, but it waits for its locks as long as it takes."""
    return session.start(DROP, days)


def until_dropped(db: Session, going: Waiting, days: int) -> None:
    """By that call, or by one of the next.

    Whoever waits for the table may have it before the commit has given up the day, and an
    autovacuum may use the day.
    """

    def again() -> bool:
        db.stop_autovacuum()
        return db.one(DROP, days)

    if not going.one():
        wait_until(again, "the day goes")


def exists(db: Session, table: str) -> bool:
    return db.one("select to_regclass(%s) is not null", f"pgbaton.{table}")


LONG_TRANSACTIONS = {
    "reads a job": "select count(*) from pgbaton.job",
    "reads history": "select count(*) from pgbaton.job_history",
    "looks at a job": "select (pgbaton.get_job(%s)).id",
    "reads reports": "select count(*) from pgbaton.job_report",
    "reads errors": "select count(*) from pgbaton.job_error",
}


@pytest.mark.parametrize("what", LONG_TRANSACTIONS)
def test_a_long_transaction_puts_it_off(
    open_session: Open, db: Session, clock: Clock, day: None, sound: Sound, what: str
) -> None:
    db.rows("select pgbaton.create_queue('q', retention => '3 days')")
    jobs = db.enqueue_batch("q", 20)
    db.complete(db.claim("q", 19))
    name = partition(db)
    clock.advance("4 days")
    reader = open_session()
    reader.begin()
    query = LONG_TRANSACTIONS[what]
    reader.rows(query, *([jobs[19]] * query.count("%s")))
    done = maintain(open_session())
    assert done["days_dropped"] == 0
    assert exists(db, f"job_{name}")
    sound()
    assert db.one("select count(*) from pgbaton.job") == 20
    reader.commit()
    # Not in each call: every try may hold up others for 50 ms.
    assert maintain(db)["days_dropped"] == 0
    # At the first try, unless an autovacuum is at work on the day: then at one of the next.
    for _ in range(20):
        clock.advance("11 minutes")
        if maintain(db)["days_dropped"] > 0:
            break
    else:
        pytest.fail("the day stays though nobody reads it")
    assert db.rows("select id from pgbaton.job") == [(jobs[19],)]
    sound()
    assert list(db.claim("q")) == [jobs[19]]


def test_a_job_that_is_committed_while_its_day_goes_is_not_lost(
    open_session: Open, db: Session, clock: Clock, day: None, sound: Sound
) -> None:
    """A short retention, at midnight: the day may go as soon as it is over."""
    db.rows("select pgbaton.create_queue('q', retention => '0')")
    clock.advance("11 hours 59 minutes")
    producer = open_session()
    producer.begin()
    job = producer.enqueue("q")
    clock.advance("2 minutes")
    going = drop(open_session(), 1).until_blocked(producer)
    producer.commit()
    until_dropped(db, going, 1)
    sound()
    assert list(db.claim("q")) == [job]


def test_whoever_has_the_table_and_not_yet_the_day_is_not_waited_for_in_vain(
    open_session: Open, db: Session, clock: Clock, day: None, sound: Sound
) -> None:
    """Every statement locks the table before its days: so must the one that drops a day."""
    db.rows("select pgbaton.create_queue('q', retention => '1 day')")
    db.complete(db.claim("q"))
    name = partition(db)
    clock.advance("3 days")
    reader = open_session()
    reader.begin()
    reader.rows("lock table only pgbaton.job in access share mode")
    going = drop(open_session(), 3).until_blocked(reader)
    reader.never_waits()
    reader.rows("select count(*) from pgbaton.job")
    reader.commit()
    until_dropped(db, going, 3)
    assert not exists(db, f"job_{name}")
    sound()


def test_jobs_that_end_while_their_day_goes_keep_their_history(
    open_session: Open, db: Session, clock: Clock, day: None, sound: Sound
) -> None:
    db.rows("select pgbaton.create_queue('q', retention => '1 day', lease => '30 days')")
    db.complete(db.claim("q"))
    jobs = db.enqueue_batch("q", 100)
    db.complete(db.claim("q", 95))
    late = db.claim("q", 5)
    clock.advance("3 days")
    worker = open_session()
    worker.begin()
    assert worker.complete(late) == ["ok"] * 5
    going = drop(open_session(), 3).until_blocked(worker)
    worker.commit()
    until_dropped(db, going, 3)
    sound()
    assert db.rows("select id, state::text from pgbaton.finished_jobs order by id") == [
        (job, "completed") for job in jobs[95:]
    ]


def test_an_older_snapshot_drops_no_day(
    open_session: Open, db: Session, clock: Clock, day: None, sound: Sound
) -> None:
    db.rows("select pgbaton.create_queue('q', retention => '1 day', lease => '30 days')")
    jobs = db.enqueue_batch("q", 20)
    db.complete(db.claim("q", 19))
    (late,) = db.claim("q").items()
    clock.advance("3 days")
    other = open_session()
    other.begin_with_snapshot("repeatable read")
    db.complete(dict([late]))
    maintain(other)
    other.commit()
    sound()
    assert db.rows("select id from pgbaton.finished_jobs where id = %s", late[0]) == [(jobs[19],)]


def test_two_sessions_run_a_schedule_once(
    open_session: Open, db: Session, clock: Clock, day: None
) -> None:
    db.rows("select pgbaton.create_queue('q')")
    db.rows("select pgbaton.create_schedule('s', 'q', '* * * * *')")
    clock.advance("1 minute")
    first, second = open_session(), open_session()
    first.begin()
    assert maintain(first)["scheduled"] == 1
    assert "skipped" in maintain(second)
    first.commit()
    assert maintain(second)["scheduled"] == 0
    assert len(db.claim("q")) == 1


def test_health_sees_an_old_snapshot(open_session: Open, db: Session, clock: Clock) -> None:
    def snapshot() -> tuple[str, str]:
        (found,) = db.rows(
            "select status, detail from pgbaton.health() where check_name = 'oldest snapshot'"
        )
        return found

    reader = open_session()
    reader.begin_with_snapshot("repeatable read")
    assert snapshot()[0] == "ok"
    clock.advance("6 minutes")
    assert snapshot()[0] == "warn"
    # An autovacuum that began before the reader is older for as long as it runs.
    wait_until(
        lambda: f"pg_terminate_backend({reader.pid})" in snapshot()[1], "the reader is named"
    )
    clock.advance("1 hour")
    assert snapshot()[0] == "bad"
    reader.commit()
    # An autovacuum has a snapshot as well, and is an hour old by the clock of the test.
    status, detail = snapshot()
    assert status == "ok" or f"({reader.pid})" not in detail


def test_the_inbox_is_left_alone_while_somebody_writes(
    open_session: Open, db: Session, clock: Clock, sound: Sound
) -> None:
    db.rows("select pgbaton.create_queue('q')")
    writer = open_session()
    writer.begin()
    writer.rows("insert into pgbaton.enqueue_inbox (queue) values ('q')")
    db.never_waits()
    assert db.one("select pgbaton._empty_inbox()") is False
    writer.commit()
    assert db.one("select pgbaton._empty_inbox()") is True
    assert len(db.claim("q")) == 1
    sound()


def test_partitions_wait_for_no_long_transaction(
    open_session: Open, db: Session, clock: Clock, day: None
) -> None:
    clock.advance("10 days")
    reader = open_session()
    reader.begin()
    reader.rows("select count(*) from pgbaton.job")
    assert maintain(db)["partitions_added"] == 0
    reader.commit()
    assert maintain(db)["partitions_added"] == 0, "tried once a minute"
    clock.advance("61 seconds")
    assert maintain(db)["partitions_added"] > 0
