"""Retention: what is dropped is over, and dropping it stops nobody."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from calls import fail, run_all, state
from sessions import Clock, Session

Open = Callable[[], Session]
Sound = Callable[[], None]
TABLES = ("job", "job_history", "job_report", "job_error")


@pytest.fixture
def day(db: Session, clock: Clock) -> str:
    """A day that no other test has: its partitions are made, and it is returned as yyyymmdd."""
    db.rows(
        "update public.clock set instant = date_trunc('day', greatest(instant, ("
        "  select max(to_date(substring(c.relname from '[0-9]{8}$'), 'YYYYMMDD'))"
        "  from pg_class as c where c.relname ~ '^job_[0-9]{8}$'"
        ")), 'UTC') + interval '40 days 12 hours'"
    )
    db.rows("select pgbaton.run_maintenance()")
    return db.one("select to_char(pgbaton._day(pgbaton._now()), 'YYYYMMDD')")


def exists(db: Session, table: str) -> bool:
    return db.one("select to_regclass(%s) is not null", f"pgbaton.{table}")


def test_purging_never_frees_a_blocked_key(
    db: Session, clock: Clock, day: str, sound: Sound
) -> None:
    """With all that ended around it gone, and every retention at nothing."""
    db.rows(
        "select pgbaton.create_fifo_queue('q', max_attempts => 1, retention => '0',"
        " dead_letter_retention => '0')"
    )
    failed, sibling = db.enqueue("q", "k"), db.enqueue("q", "k")
    others = db.enqueue_batch("q", 30, [f"key {n}" for n in range(30)])
    claimed = db.claim("q", 100)
    assert fail(db, {failed: claimed.pop(failed)}) == "failed"
    assert db.complete(claimed) == ["ok"] * 30
    clock.advance("5 days")
    assert db.one("select pgbaton.run_maintenance()")["days_dropped"] > 0
    db.rows("select pgbaton.purge_dead_jobs()")
    db.rows("select pgbaton.cleanup_expired_jobs('1 day')")
    assert db.rows("select id from pgbaton.job where id = any (%s)", others) == []
    assert state(db, failed) == "failed"
    assert db.rows("select pgbaton.get_blocked_keys('q')") == [("k",)]
    assert db.claim("q") == {}
    sound()
    db.rows("select pgbaton.skip_job('q', %s)", failed)
    assert run_all(db) == [sibling]


def test_purging_while_somebody_holds_a_lock(
    db: Session, open_session: Open, clock: Clock, day: str, sound: Sound
) -> None:
    """It gives up soon and tries again later; workers and producers go on meanwhile."""
    db.rows("select pgbaton.create_queue('q', retention => '0')")
    db.enqueue("q")
    run_all(db)
    clock.advance("3 days")
    reader, maintainer, worker = open_session(), open_session(), open_session()
    reader.begin()
    reader.rows("select count(*) from pgbaton.job")
    assert maintainer.one("select pgbaton.run_maintenance()")["days_dropped"] == 0
    assert exists(db, f"job_{day}")
    worker.never_waits()
    late = worker.enqueue("q")
    assert run_all(worker) == [late]
    reader.commit()
    clock.advance("11 minutes")
    assert maintainer.one("select pgbaton.run_maintenance()")["days_dropped"] > 0
    assert not exists(db, f"job_{day}")
    sound()


def test_partitions_are_missing(db: Session, clock: Clock, day: str, sound: Sound) -> None:
    """Nobody ran maintenance for days: jobs go to the default partition, and nothing is lost."""
    db.rows("select pgbaton.create_fifo_queue('q', max_attempts => 1, retention => '1 day')")
    before = db.enqueue("q", "k")
    clock.advance("20 days")
    today = db.one("select to_char(pgbaton._day(pgbaton._now()), 'YYYYMMDD')")
    assert not exists(db, f"job_{today}")
    jobs = [before, *(db.enqueue("q", "k") for _ in range(3))]
    claimed = db.claim("q")
    assert db.rows("select count(*) from pgbaton.job_default") == [(3,)]
    assert db.complete(claimed) == ["ok"]
    assert fail(db, db.claim("q")) == "failed"
    assert state(db, jobs[1]) == "failed"
    sound()

    db.rows("select pgbaton.run_maintenance()")
    sound()
    db.rows("select pgbaton.retry_job('q', %s)", jobs[1])
    assert run_all(db) == jobs[1:]
    jobs += [db.enqueue("q", "k")]
    assert run_all(db) == jobs[-1:]
    clock.advance("5 days")
    db.rows("select pgbaton.run_maintenance()")
    assert db.rows("select id from pgbaton.job_default") == []
    sound()
