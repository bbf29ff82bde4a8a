"""A clock of the server that was days ahead, and was set right: nothing waits for that day.

Every column of a time is named here with what becomes of it, so that a new one is thought about.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sessions import Clock, Session

Sound = Callable[[], None]

MENDED = {
    ("span", "lease_until"),
    ("span", "claimed_at"),
    ("span", "started_at"),
    ("span", "run_at"),
    ("span", "changed_at"),
    ("schedule", "next_run_at"),
    ("schedule", "last_run_at"),
    ("sleeper", "asleep_at"),
    ("sleeper", "asleep_until"),
    ("worker", "heartbeat_at"),
    ("worker", "started_at"),
    ("watermark", "recorded_at"),
    ("counted_day", "counted_at"),
    ("counted_day", "next_at"),
    ("key_block", "noted_at"),
    ("key_start", "put_off_until"),
}
KEPT_FOR_LONGER = {
    ("job_history", "finished_at"),
    ("dedup", "created_at"),
    ("enqueue_run", "begun_at"),
    ("enqueue_ledger", "noted_at"),
    ("spark_chunk", "staged_at"),
    ("key_block", "ended_at"),
}
"""Retention counts from there: such rows go as much later as the clock was ahead."""
HARMLESS = {("permit", "free_at"), ("key_start", "last_at"), ("job", "waits_since")}
"""One that is ahead counts as past (test_r02_...), or bounds a debounce later than it would."""
ONLY_SHOWN = {
    ("audit", "at"),
    ("inbox_row", "run_at"),
    ("job", "created_at"),
    ("job_error", "claimed_at"),
    ("job_error", "failed_at"),
    ("job_history", "claimed_at"),
    ("job_history", "run_at"),
    ("job_history", "started_at"),
    ("job_report", "last_retry_at"),
    ("job_wait", "blocked_at"),
    ("job_wait", "run_at"),
    ("key_block", "blocked_at"),
    ("kv", "updated_at"),
    ("paused_key", "paused_at"),
    ("queue", "created_at"),
    ("queue_grant", "granted_at"),
    ("schedule", "created_at"),
    ("subscription", "created_at"),
    ("upkeep_failure", "failed_at"),
    ("upkeep_failure", "failed_since"),
}


def test_each_time_of_the_schema_is_thought_about(db: Session) -> None:
    columns = db.rows("""
        select c.relname::text, a.attname::text
        from pg_class as c inner join pg_attribute as a on a.attrelid = c.oid
        where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'p')
        and not c.relispartition and a.attislocal and not a.attisdropped
        and a.atttypid = 'timestamptz'::regtype
    """)
    assert set(columns) == MENDED | KEPT_FOR_LONGER | HARMLESS | ONLY_SHOWN
    print(f"{len(columns)} columns: {len(MENDED)} mended")


@pytest.fixture
def ahead(db: Session, clock: Clock) -> Session:
    """Queues with leases of a minute, and three days ahead."""
    clock.skip_midnight()
    for create in ("create_fifo_queue('q'", "create_queue('mail'"):
        db.rows(
            f"select pgbaton.{create}, lease => '1 minute', retry_delay => '1 minute',"  # type: ignore[arg-type]
            " retry_backoff => false)"
        )
    db.rows("select pgbaton.create_schedule('minutely', 'mail', '* * * * *', job_type => 'cron')")
    db.rows("select pgbaton.run_maintenance()")
    return db


def set_right(db: Session, clock: Clock, by: str = "run_maintenance()") -> None:
    clock.advance("-3 days")
    db.rows(f"select pgbaton.{by}")  # type: ignore[arg-type]
    db.rows("select pgbaton.run_maintenance()")
    check = "select status from pgbaton.health() where check_name = 'clock'"
    assert db.one(check) == "warn"


@pytest.mark.parametrize("by", ["run_maintenance()", "wait_for_jobs('x')"])
@pytest.mark.parametrize("queue", ["q", "mail"])
def test_the_lease_of_a_worker_that_is_gone(
    ahead: Session, clock: Clock, sound: Sound, queue: str, by: str
) -> None:
    job = ahead.enqueue(queue, "k")
    clock.advance("3 days")
    claimed = ahead.claim(queue)
    assert list(claimed) == [job]
    set_right(ahead, clock, by)
    assert list(ahead.claim(queue)) == [job]
    assert ahead.complete(claimed) == ["lease_lost"]
    sound()


def test_the_lease_of_a_worker_that_lives(ahead: Session, clock: Clock, sound: Sound) -> None:
    """It is not taken away, and ends a lease later unless it is extended."""
    job = ahead.enqueue("q", "k")
    clock.advance("3 days")
    worker = f"worker {ahead.pid}"
    ahead.rows("select pgbaton.worker_heartbeat(%s)", worker)
    assert list(ahead.claim("q")) == [job]
    set_right(ahead, clock)
    assert ahead.claim("q") == {}
    assert ahead.one("select silent_for from pgbaton.list_workers()").total_seconds() == 0
    clock.advance("61 seconds")
    assert list(ahead.claim("q")) == [job]
    sound()


@pytest.mark.parametrize("lease", ["1 minute", "30 days"])
def test_a_lease_that_was_extended_by_it(ahead: Session, clock: Clock, lease: str) -> None:
    """Claimed before. What is left of a longer one of before is cut by as much at most."""
    job = ahead.enqueue("q", "k")
    claimed = ahead.claim("q", lease="30 days" if lease == "30 days" else "1 hour")
    clock.advance("3 days")
    if lease == "1 minute":
        extend = "select verdict from pgbaton.extend_leases(%s, %s)"
        # What was claimed for an hour was over at once; a sweep did not come in between.
        assert ahead.one(extend, [job], claimed[job]) == "ok"
    ahead.rows("select pgbaton.wait_for_jobs('x')")
    set_right(ahead, clock)
    assert ahead.claim("q") == {}
    left = ahead.one("select lease_until - pgbaton._now() from pgbaton.span")
    if lease == "1 minute":
        assert left.total_seconds() == 60
    else:
        assert left.days == 27
    ahead.rows("select pgbaton.run_maintenance()")
    assert left == ahead.one("select lease_until - pgbaton._now() from pgbaton.span")


def test_a_retry_waits_as_long_as_it_was_to_wait(ahead: Session, clock: Clock) -> None:
    given = ahead.enqueue("mail", run_at=ahead.one("select pgbaton._now() + interval '1 hour'"))
    job = ahead.enqueue("mail")
    clock.advance("3 days")
    claimed = ahead.claim("mail", lease="1 year")
    ahead.rows("select pgbaton.fail_job(%s, 'broke', %s)", job, claimed[job])
    ahead.rows("select pgbaton.reset_running_jobs()")
    assert list(ahead.claim("mail")) == [given]
    ahead.rows("select pgbaton.wait_for_jobs('x')")
    set_right(ahead, clock)
    # What was given to nobody is there at once: its time came by the clock of then.
    assert set(ahead.claim("mail", lease="1 year")) - {given} == set()
    clock.advance("61 seconds")
    assert job in ahead.claim("mail", lease="1 year")


def test_schedules_sleepers_and_counts_go_on(ahead: Session, clock: Clock) -> None:
    clock.advance("3 days")
    assert ahead.one("select pgbaton.run_maintenance()")["scheduled"] == 1
    ahead.rows("select pgbaton.wait_for_jobs('s', job_types => array['other'])")
    ahead.rows("select from pgbaton.job_totals()")
    set_right(ahead, clock)
    clock.advance("1 minute")
    assert ahead.one("select pgbaton.run_maintenance()")["scheduled"] == 1
    until = (
        "select bool_and(asleep_until <= pgbaton._now() + interval '1 day') from pgbaton.sleeper"
    )
    assert ahead.one(until) is True
    ahead.rows("select from pgbaton.job_totals()")
    counted = "select counted_at = pgbaton._now() from pgbaton.counted_day where day = '-infinity'"
    assert ahead.one(counted) is True
    clock.advance("10 minutes")
    ahead.rows("select pgbaton.run_maintenance()")
    assert ahead.rows("select from pgbaton.sleeper") == []


def test_minutes_that_come_twice_run_once(ahead: Session, clock: Clock) -> None:
    """As with cron, a clock that is corrected by less than three hours repeats nothing."""
    clock.advance("10 minutes")
    assert ahead.one("select pgbaton.run_maintenance()")["scheduled"] == 1
    clock.advance("-5 minutes")
    assert ahead.one("select pgbaton.run_maintenance()")["scheduled"] == 0


def test_a_clock_that_was_not_set_back_mends_nothing(ahead: Session, clock: Clock) -> None:
    job = ahead.enqueue("q", "k")
    claimed = ahead.claim("q", lease="30 days")
    clock.advance("3 days")
    ahead.rows("select pgbaton.run_maintenance()")
    check = "select status from pgbaton.health() where check_name = 'clock'"
    assert ahead.one(check) == "ok"
    assert ahead.claim("q") == {}
    assert ahead.complete({job: claimed[job]}) == ["ok"]
