"""Limits and rates: L01 to R12 of the list of what they get wrong elsewhere.

Races of each limit beside the calls that change it: races/test_limits.py.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import LiteralString

import pytest
from sessions import Clock, Session

Open = Callable[[], Session]
LEVELS = ("read committed", "repeatable read")


def limited(db: Session, limits: LiteralString, policy: str = "standard", queue: str = "q") -> None:
    db.rows("select pgbaton.create_queue(%s, %s::pgbaton.queue_policy)", queue, policy)
    db.rows(f"select pgbaton.set_queue_limits(%s, {limits})", queue)


def running(db: Session) -> int:
    return int(db.one("select coalesce(sum(hi - lo + 1), 0) from pgbaton.held_span"))


def used(db: Session) -> int:
    return int(db.one("select coalesce(sum(running), 0) from pgbaton.list_queue_limits()"))


def state(db: Session, job: int) -> str:
    return str(db.one("select state from pgbaton.get_job(%s)", job))


@pytest.mark.parametrize("level", LEVELS)
def test_l01_a_count_under_a_snapshot(db: Session, open_session: Open, level: str) -> None:
    limited(db, "max_running => 1")
    db.enqueue_batch("q", 2)
    a, b = open_session(), open_session()
    for session in (a, b):
        session.begin_with_snapshot(level)
    assert [len(a.claim("q")), len(b.claim("q"))] == [1, 0]
    a.commit()
    b.commit()
    assert running(db) == 1


def test_l02_two_claims_and_one_budget(db: Session, open_session: Open) -> None:
    limited(db, "rate_count => 5, rate_interval => '1 hour'")
    db.enqueue_batch("q", 10)
    other = open_session()
    other.begin()
    db.never_waits()
    assert [len(other.claim("q", 5)), len(db.claim("q", 5))] == [5, 0]
    other.commit()
    assert db.claim("q", 5) == {}


def test_l03_ids_that_are_committed_late(db: Session, open_session: Open) -> None:
    limited(db, "max_running => 2")
    late = open_session()
    late.begin()
    late.enqueue("q")
    db.enqueue_batch("q", 2)
    assert len(db.claim("q")) == 2
    late.commit()
    assert db.claim("q") == {}


def test_l04_decided_and_written_in_one_transaction(db: Session, open_session: Open) -> None:
    limited(db, "max_running => 1")
    db.enqueue_batch("q", 2)
    other = open_session()
    other.begin()
    held = other.claim("q")
    assert db.claim("q") == {}, "it is held as long as it is not decided"
    other.rollback()
    assert len(db.claim("q")) == len(held) == 1


def test_l05_a_place_is_freed_once(db: Session, clock: Clock) -> None:
    clock.skip_midnight()
    limited(db, "max_running => 1")
    db.enqueue_batch("q", 3)
    lost = db.claim("q", 1, "5 s")
    clock.advance("6 s")
    held = db.claim("q")
    assert db.complete(lost) == ["lease_lost"]
    assert db.claim("q") == {}
    assert db.complete(held) == ["ok"]
    assert db.complete(held) == ["invalid_state"]
    assert len(db.claim("q", 10)) == 1


def test_l06_a_lease_that_is_renewed_keeps_its_place(db: Session, clock: Clock) -> None:
    clock.skip_midnight()
    limited(db, "max_running => 1")
    db.enqueue_batch("q", 2)
    [(job, token)] = db.claim("q", 1, "5 s").items()
    for _ in range(4):
        clock.advance("4 s")
        db.rows("select * from pgbaton.extend_leases(array[%s::bigint], %s, '5 s')", job, token)
        assert db.claim("q") == {}


@pytest.mark.parametrize("sessions", [1, 2])
def test_l07_l08_what_a_crash_left_is_handed_out_again(
    db: Session, open_session: Open, clock: Clock, sessions: int
) -> None:
    """By the claim itself, without upkeep, and without a place for the corpse."""
    clock.skip_midnight()
    limited(db, "max_running => 1")
    db.enqueue_batch("q", 3)
    crashed = db.claim("q", 1, "5 s")
    clock.advance("6 s")
    claimers = [open_session() for _ in range(sessions)]
    for session in claimers:
        session.begin()
    taken = [list(session.claim("q")) for session in claimers]
    assert taken == [list(crashed), []][:sessions]


def test_l09_nobody_waits_for_ever(db: Session, open_session: Open) -> None:
    """Who enqueues saw the queue full, who ended saw nobody wait."""
    limited(db, "max_running => 1")
    db.enqueue("q")
    held = db.claim("q")
    producer, worker = open_session(), open_session()
    producer.begin()
    worker.begin()
    producer.enqueue("q")
    worker.complete(held)
    worker.commit()
    producer.commit()
    assert len(db.claim("q")) == 1


def test_l10_a_full_key_in_front(db: Session) -> None:
    limited(db, "key_limit => 1", "singleton")
    db.enqueue_batch("q", 1000, ["a"] * 1000)
    db.claim("q", 1)
    b = db.enqueue("q", "b")
    assert list(db.claim("q", 10)) == [b]


def test_l11_at_rest_nothing_is_used(db: Session, clock: Clock) -> None:
    clock.skip_midnight()
    limited(db, "max_running => 3")
    db.enqueue_batch("q", 30)
    for turn in range(20):
        held = db.claim("q")
        assert len(held) == 3
        first, *rest = held
        token = held[first]
        if turn % 2:
            db.rows("select pgbaton.fail_job(%s, 'broke', %s, true, '1 s')", first, token)
        else:
            db.complete({first: token})
        db.rows("select * from pgbaton.release_jobs(%s, %s)", rest, token)
        assert used(db) == running(db) == 0
        clock.advance("1 s")


def test_l12_limits_that_change(db: Session) -> None:
    limited(db, "max_running => 4")
    db.enqueue_batch("q", 20)
    held = db.claim("q")
    db.rows("select pgbaton.set_queue_limits('q', 1)")
    for job in list(held)[:3]:
        db.complete({job: held[job]})
        assert db.claim("q") == {}
    db.complete({list(held)[3]: held[list(held)[3]]})
    assert len(db.claim("q")) == 1
    db.rows("select pgbaton.set_queue_limits('q', 4)")
    assert len(db.claim("q")) == 3
    db.rows("select pgbaton.set_queue_limits('q')")
    assert len(db.claim("q", 100)) == 12


def test_l13_to_wait_writes_nothing(db: Session, clock: Clock) -> None:
    clock.skip_midnight()
    limited(db, "max_running => 1")
    db.enqueue("q")
    jobs = [db.enqueue("q") for _ in range(3)]
    held = db.claim("q", 1)
    rows = "select array_agg(s::text || s.xmin order by s.lo) from pgbaton.ready_span as s"
    before = db.one(rows)
    for _ in range(5):
        assert db.claim("q") == {}
        clock.advance("1 minute")
    assert db.one(rows) == before
    db.complete(held)
    assert list(db.claim("q")) == jobs[:1], "at once"
    assert db.one("select attempt from pgbaton.get_job(%s)", jobs[0]) == 1


def test_l14_a_job_without_a_place_is_handed_to_nobody(db: Session) -> None:
    limited(db, "max_running => 1")
    db.rows("select pgbaton.create_queue('free')")
    db.enqueue_batch("q", 3)
    free = db.enqueue_batch("free", 2)
    taken = db.rows("select id, queue from pgbaton.claim_job_batch('w', batch_size => 10)")
    assert sorted(queue for _, queue in taken) == ["free", "free", "q"]
    assert {job for job, queue in taken if queue == "free"} == set(free)


def test_l15_one_place_wakes_few(db: Session, open_session: Open) -> None:
    limited(db, "max_running => 1")
    db.enqueue_batch("q", 3)
    held = db.claim("q", 1)
    sleeper = open_session()
    for number in range(100):
        for _ in range(2):
            sleeper.rows("select pgbaton.wait_for_jobs(%s, '{q}')", f"sleeper {number}")
    before = db.one("select pgbaton.wake_ups()")
    db.complete(held)
    assert db.one("select pgbaton.wake_ups()") - before <= 2


def test_l16_one_row_for_each_place(db: Session) -> None:
    """However many jobs run through: no hot row, and nothing that grows."""
    limited(db, "max_running => 5, rate_count => 1000000, rate_interval => '1 hour'")
    for _ in range(20):
        db.enqueue_batch("q", 10)
        for _ in range(2):
            db.complete(db.claim("q"))
    assert db.one("select count(*) from pgbaton.permit") == 5 + 100


def test_l17_crossed_batches(db: Session, open_session: Open) -> None:
    limited(db, "max_running => 8, key_limit => 4", "singleton")
    db.enqueue_batch("q", 40, ["a", "b"] * 20)
    sessions = [open_session() for _ in range(4)]
    for session in sessions:
        session.never_waits()
    for turn in range(5):
        taken = []
        for session in sessions:
            session.begin()
            taken.append(session.claim("q"))
        for session, held in zip(sessions, taken, strict=True):
            if held:
                session.complete(dict(reversed(held.items())))
        for session in sessions if turn % 2 else reversed(sessions):
            session.commit()
    assert running(db) == 0


def test_l18_all_limits_or_none(db: Session) -> None:
    limited(db, "max_running => 2, key_limit => 1", "singleton")
    db.enqueue_batch("q", 6, ["a", "a", "a", "b", "c", "d"])
    held = [job for _ in range(4) for job in db.claim("q", 1)]
    assert len(held) == running(db) == used(db) == 2
    keys = db.rows("select distinct singleton_key from pgbaton.held_span")
    assert len(keys) == 2


def test_l19_round_robin_is_round(db: Session) -> None:
    limited(db, "key_limit => 2", "singleton")
    jobs = db.enqueue_batch("q", 9, ["a", "a", "a", "b", "b", "b", "c", "c", "c"])
    taken = [job for _ in range(9) for job in db.claim("q", 1)]
    assert taken == [jobs[n] for n in (0, 3, 6, 1, 4, 7)]


def test_l20_fair_over_all_workers(db: Session, open_session: Open) -> None:
    """The small tenant waits for one round, whoever claims."""
    limited(db, "key_limit => 2", "singleton")
    db.enqueue_batch("q", 1000, ["big"] * 1000)
    small = db.enqueue("q", "small")
    workers = [open_session() for _ in range(4)]
    taken = [job for worker in workers for job in worker.claim("q", 1)]
    assert small in taken[:2]


def test_l21_a_retry_has_the_key_that_it_had(db: Session) -> None:
    limited(db, "key_limit => 1", "singleton")
    first = db.enqueue("q", "a")
    [(job, token)] = db.claim("q").items()
    db.rows("select pgbaton.fail_job(%s, 'broke', %s, true, '0')", job, token)
    db.enqueue("q", "a")
    assert [len(db.claim("q")) for _ in range(2)] == [1, 0]
    assert db.one("select singleton_key from pgbaton.get_job(%s)", first) == "a"


def test_l22_the_count_comes_from_the_rows(db: Session) -> None:
    limited(db, "max_running => 2")
    db.enqueue_batch("q", 10)
    assert [len(db.claim("q", size)) for size in (1, 5, 1, 5, 1)] == [1, 1, 0, 0, 0]


def test_l23_the_same_limit_again(db: Session) -> None:
    limited(db, "max_running => 1")
    db.enqueue_batch("q", 2)
    db.claim("q")
    db.rows("select pgbaton.set_queue_limits('q', 1)")
    assert db.claim("q") == {}


@pytest.mark.parametrize("policy", ["standard", "fifo", "singleton"])
def test_l24_who_waits_for_its_time_has_no_place(db: Session, clock: Clock, policy: str) -> None:
    """Of a key in order it keeps the key, on purpose, and why_not_running says so."""
    clock.skip_midnight()
    limited(db, "max_running => 1", policy)
    for key in ("a", "a", "b"):
        db.enqueue("q", key)
    [(job, token)] = db.claim("q").items()
    db.rows("select pgbaton.fail_job(%s, 'broke', %s, true, '1 hour')", job, token)
    held = db.claim("q")
    assert len(held) == 1
    db.complete(held)
    assert len(db.claim("q")) == (0 if policy == "fifo" else 1)
    if policy == "fifo":
        said = db.one("select pgbaton.why_not_running(%s)", job)
        assert "runs not before" in said


def test_l25_a_queue_with_many_keys(db: Session) -> None:
    limited(db, "max_running => 1", "singleton")
    db.enqueue_batch("q", 2000, [f"key {n}" for n in range(2000)])
    db.claim("q")
    db.rows("select pgbaton.create_queue('b')")
    job = db.enqueue("b")
    reads = """
        select coalesce(sum(pg_stat_get_xact_tuples_returned(c.oid)), 0)::int from pg_class as c
        where c.relnamespace = 'pgbaton'::regnamespace
    """
    db.begin()
    before = db.one(reads)
    [found] = db.rows("select id from pgbaton.claim_job_batch('w')")
    assert found == (job,)
    # Once in ten seconds a claim sweeps as well, which is some hundreds; the keys are 2,000.
    assert db.one(reads) - before < 1000
    db.commit()


def test_r01_the_border_of_a_window(db: Session, clock: Clock) -> None:
    clock.skip_midnight()
    limited(db, "rate_count => 10, rate_interval => '1 minute'")
    db.enqueue_batch("q", 40)
    clock.advance("59.9 s")
    assert len(db.claim("q", 20)) == 10
    clock.advance("0.2 s")
    assert db.claim("q", 20) == {}
    clock.advance("59.8 s")
    assert len(db.claim("q", 20)) == 10


def test_r02_a_clock_that_was_set_back(db: Session, clock: Clock) -> None:
    clock.skip_midnight()
    limited(db, "rate_count => 2, rate_interval => '1 minute'")
    db.enqueue_batch("q", 10)
    clock.advance("1 day")
    assert len(db.claim("q")) == 2
    clock.advance("-1 day")
    assert len(db.claim("q")) == 2
    clock.advance("1 minute")
    assert len(db.claim("q")) == 2


def test_r03_starts_are_counted(db: Session, clock: Clock) -> None:
    clock.skip_midnight()
    limited(db, "rate_count => 3, rate_interval => '10 s'")
    db.enqueue_batch("q", 6)
    assert len(db.claim("q", 10, "1 hour")) == 3
    clock.advance("10 s")
    assert len(db.claim("q", 10, "1 hour")) == 3, "although the first ones run"


def test_r04_r08_one_that_is_used_up_stops_no_other(db: Session, clock: Clock) -> None:
    clock.skip_midnight()
    limited(db, "rate_count => 1, rate_interval => '1 hour'")
    db.rows("select pgbaton.create_queue('other')")
    db.rows("select pgbaton.enqueue_batch('q', '{1,2,3}', priority => 900)")
    other = set(db.enqueue_batch("other", 3))
    claim = "select id from pgbaton.claim_job_batch('w', batch_size => 3)"
    first, second = ({job for (job,) in db.rows(claim)} for _ in range(2))
    assert len((first | second) & other) == 3
    assert len((first | second) - other) == 1
    for _ in range(3):
        wait = db.one("select wait from pgbaton.wait_for_jobs('w', '{q}', max_wait => '1 hour')")
    assert wait == timedelta(minutes=5), "nobody sleeps longer than a lease"
    clock.advance("56 minutes")
    for _ in range(3):
        wait = db.one("select wait from pgbaton.wait_for_jobs('w', '{q}', max_wait => '1 hour')")
    assert wait == timedelta(minutes=4), "until it opens"


def test_r05_each_queue_has_its_own(db: Session) -> None:
    limited(db, "rate_count => 1, rate_interval => '1 hour'")
    limited(db, "rate_count => 1, rate_interval => '1 hour'", queue="b")
    for queue in ("q", "b"):
        db.enqueue_batch(queue, 2, ["k", None])  # type: ignore[list-item]
        assert len(db.claim(queue)) == 1


def test_r04_a_key_that_is_used_up_stops_no_other(db: Session, clock: Clock) -> None:
    """And who sleeps wakes when the first of the keys opens."""
    clock.skip_midnight()
    limited(db, "key_rate_count => 1, key_rate_interval => '1 minute'", "fifo")
    for key in ("a", "a", "b", "b"):
        db.enqueue("q", key)
    db.complete(db.claim("q", 1))
    clock.advance("20 s")
    held = db.claim("q")
    assert len(held) == 1, "a is in front, b starts"
    db.complete(held)
    assert db.claim("q") == {}
    for _ in range(3):
        wait = db.one("select wait from pgbaton.wait_for_jobs('w', '{q}', max_wait => '1 hour')")
    assert wait == timedelta(seconds=40)


def test_r05_each_key_has_its_own(db: Session) -> None:
    """Jobs without a key: the rate of the queue alone."""
    limits: LiteralString = (
        "key_limit => 9, key_rate_count => 1, key_rate_interval => '1 hour',"
        " rate_count => 5, rate_interval => '1 hour'"
    )
    limited(db, limits, "singleton")
    db.enqueue_batch("q", 8, ["a", "a", "b", None, None, None, None, None])  # type: ignore[list-item]
    for _ in range(8):
        db.claim("q")
    started = "select singleton_key, count(*) from pgbaton.held_span group by 1 order by 1"
    assert db.rows(started) == [("", 3), ("a", 1), ("b", 1)]


def test_r06_to_wait_is_no_attempt(db: Session, clock: Clock) -> None:
    clock.skip_midnight()
    limited(db, "rate_count => 1, rate_interval => '1 minute'")
    db.rows("select pgbaton.update_queue('q', max_attempts => 3)")
    db.enqueue_batch("q", 20)
    attempts = []
    for _ in range(20):
        for _ in range(3):
            for attempt, job, token in db.rows(
                "select attempt, id, lease_token from pgbaton.claim_job_batch('w', '{q}')"
            ):
                attempts.append(attempt)
                db.rows("select pgbaton.complete_job(%s, null, %s)", job, token)
        clock.advance("1 minute")
    assert attempts == [1] * 20


def test_r07_retries_are_starts(db: Session, clock: Clock) -> None:
    clock.skip_midnight()
    limited(db, "rate_count => 30, rate_interval => '1 minute'")
    jobs = db.enqueue_batch("q", 30)
    held = db.claim("q", 30)
    token = next(iter(held.values()))
    db.rows(
        "select * from pgbaton.fail_jobs(%s, array_fill('broke'::text, '{30}'), %s)", jobs, token
    )
    db.rows("select pgbaton.set_queue_limits('q', null, null, 10, '1 minute')")
    clock.advance("1 minute")
    assert len(db.claim("q", 30)) == 10
    assert db.claim("q", 30) == {}


def test_r09_no_more_is_locked_than_may_start(db: Session, open_session: Open) -> None:
    limited(db, "rate_count => 3, rate_interval => '1 hour'")
    jobs = [db.enqueue("q") for _ in range(50)]
    other = open_session()
    other.begin()
    other.claim("q", 50)
    db.never_waits()
    [(cancelled, _)] = db.rows("select * from pgbaton.cancel_jobs(job_ids => %s)", jobs[4:])
    assert len(cancelled) == 46
    other.commit()


def test_r10_a_rate_is_no_concurrency_of_one(db: Session, open_session: Open) -> None:
    limited(db, "rate_count => 10, rate_interval => '10 s'")
    for _ in range(10):
        db.enqueue("q")
    workers = [open_session() for _ in range(10)]
    for worker in workers:
        worker.begin()
    assert [len(worker.claim("q", 1)) for worker in workers] == [1] * 10


def test_r10_a_rate_of_a_key_is_no_concurrency_of_one(db: Session, open_session: Open) -> None:
    limited(db, "key_rate_count => 1, key_rate_interval => '10 s'", "fifo")
    for n in range(10):
        db.enqueue("q", f"key {n}")
    workers = [open_session() for _ in range(10)]
    for worker in workers:
        worker.begin()
        worker.never_waits()
    assert [len(worker.claim("q", 1)) for worker in workers] == [1] * 10


def test_r11_nobody_has_to_open_it_again(db: Session, clock: Clock) -> None:
    """A time in a row, looked at by each claim: whoever dies meanwhile."""
    clock.skip_midnight()
    limited(db, "rate_count => 1, rate_interval => '1 hour'")
    db.enqueue_batch("q", 2)
    db.claim("q")
    db.rows("delete from pgbaton.sleeper")
    clock.advance("1 hour")
    assert len(db.claim("q")) == 1


def test_r12_a_rare_rate_is_exact(db: Session, clock: Clock) -> None:
    clock.skip_midnight()
    for n in range(30):
        limited(db, "rate_count => 1, rate_interval => '1 hour'", queue=f"q{n}")
        db.enqueue_batch(f"q{n}", 3)
    for _ in range(3):
        assert len(db.rows("select id from pgbaton.claim_job_batch('w', batch_size => 100)")) == 30
        clock.advance("59 minutes 59 seconds")
        assert db.rows("select id from pgbaton.claim_job_batch('w', batch_size => 100)") == []
        clock.advance("1 second")


def test_r12_a_rate_of_many_keys_is_exact(db: Session, clock: Clock) -> None:
    """What a key has started is forgotten when all of its rate is free again, and not before."""
    clock.skip_midnight()
    limited(db, "key_rate_count => 1, key_rate_interval => '1 hour'", "fifo")
    keys = [f"key {n}" for n in range(2000)]
    db.enqueue_batch("q", 4000, keys + keys)
    db.complete(db.claim("q", 4000))
    assert db.claim("q", 4000) == {}
    clock.advance("59 minutes 59 seconds")
    db.rows("select pgbaton.run_maintenance()")
    assert db.claim("q", 4000) == {}
    assert db.one("select count(*) from pgbaton.key_start") == 2000
    clock.advance("1 second")
    db.rows("select pgbaton.run_maintenance()")
    assert db.one("select count(*) from pgbaton.key_start") == 0
    started = 0
    for _ in range(20):  # upkeep makes 200 due at a time
        started += len(db.claim("q", 4000))
        clock.advance("0.2 s")
    assert started == 2000
