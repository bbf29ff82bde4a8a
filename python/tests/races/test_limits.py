"""Limits of queues beside each other: never one job more, and never fewer while there is work.

Rows of ../shared's list of pitfalls are named in docs/guarantees.md.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, LiteralString

import pytest
from sessions import Clock, Session

Open = Callable[[], Session]
Sound = Callable[[], None]
LEVELS = ("read committed", "repeatable read", "serializable")
POLICIES = ("standard", "fifo", "singleton", "short")


def create(db: Session, policy: str, limits: LiteralString, queue: str = "q") -> None:
    db.rows("select pgbaton.create_queue(%s, %s::pgbaton.queue_policy)", queue, policy)
    db.rows(f"select pgbaton.set_queue_limits(%s, {limits})", queue)


def fill(db: Session, count: int, queue: str = "q") -> list[int]:
    """Jobs each of which has a key of its own."""
    return [db.enqueue(queue, f"key {n}") for n in range(count)]


def running(db: Session) -> int:
    return int(db.one("select coalesce(sum(hi - lo + 1), 0) from pgbaton.held_span"))


def used(db: Session) -> int:
    return int(db.one("select coalesce(sum(running), 0) from pgbaton.list_queue_limits()"))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("policy", POLICIES)
def test_no_two_claims_use_one_place(
    db: Session, open_session: Open, sound: Sound, policy: str, level: str
) -> None:
    """L01, L02: neither sees what the other has started, and neither waits."""
    create(db, policy, "max_running => 3")
    fill(db, 10)
    sessions = [open_session() for _ in range(3)]
    for session in sessions:
        session.never_waits()
        session.begin_with_snapshot(level)
    taken = [session.claim("q", 2) for session in sessions]
    assert [len(jobs) for jobs in taken] == [2, 1, 0]
    refused = [session.refusal("commit") for session in sessions]
    if level == "serializable":  # which may find that they looked at the same places
        assert set(refused) <= {None, "40001"}
    else:
        assert refused == [None] * 3
    assert running(db) == used(db)
    assert running(db) + len(db.claim("q")) == 3
    sound()


@pytest.mark.parametrize("level", LEVELS)
def test_a_claim_under_an_older_snapshot_starts_none_too_many(
    db: Session, open_session: Open, level: str
) -> None:
    """L01: it is done right or fails with 40001."""
    create(db, "standard", "max_running => 1")
    fill(db, 3)
    old = open_session()
    old.begin_with_snapshot(level)
    assert len(db.claim("q")) == 1
    claim = "select count(*) from pgbaton.claim_job_batch('old', '{q}')"
    if level == "read committed":
        assert old.one(claim) == 0
    else:
        assert old.refusal(claim) == "40001"
    old.rollback()
    assert running(db) == 1


LOOKS = 12
"""A claim looks at the clock fewer times."""


@pytest.fixture
def slow_looks(db: Session, clock: Clock) -> None:
    """The real clock; a session waits for lock 4711 when it has looked for the held_at-th time."""
    db.rows("""
        create or replace function pgbaton._now() returns timestamptz
        language plpgsql volatile as $$
        declare
            v_now constant timestamptz := clock_timestamp();
            v_looks integer := nullif(current_setting('test.looks', true), '')::integer;
        begin
            v_looks := coalesce(v_looks, 0) + 1;
            perform set_config('test.looks', v_looks::text, false);
            if v_looks::text = current_setting('test.held_at', true) then
                perform pg_advisory_lock_shared(4711), pg_advisory_unlock_shared(4711);
            end if;
            return v_now;
        end $$
    """)


@pytest.mark.parametrize(
    ("policy", "limits"),
    [
        ("standard", "rate_count => 1, rate_interval => '1 hour'"),
        ("standard", "max_running => 1"),
        ("fifo", "key_rate_count => 1, key_rate_interval => '1 hour'"),
        ("singleton", "key_limit => 2, key_rate_count => 1, key_rate_interval => '1 hour'"),
    ],
)
@pytest.mark.parametrize("look", range(1, LOOKS + 1))
def test_a_claim_whose_time_is_older_than_the_start_of_another_one(
    db: Session,
    open_session: Open,
    slow_looks: None,
    look: int,
    policy: str,
    limits: LiteralString,
) -> None:
    """Between any of its looks at the clock and what it does with the time, another one starts."""
    create(db, policy, limits)
    db.enqueue_batch("q", 3, ["k"] * 3)
    slow = open_session()
    slow.rows(f"set test.held_at = {look}")
    db.rows("select pg_advisory_lock(4711)")
    held = slow.start("select count(*) from pgbaton.claim_job_batch('slow', '{q}')").until_settled()
    started = db.claim("q")
    if policy == "fifo" and started:  # the next one of the key may be claimed
        assert db.complete(started) == ["ok"]
    db.rows("select pg_advisory_unlock(4711)")
    assert len(started) + held.one() == 1
    assert look < LOOKS or slow.one("select current_setting('test.looks')::integer") < LOOKS


@pytest.mark.parametrize("policy", POLICIES)
def test_a_claim_that_is_rolled_back_gives_its_places_back(
    db: Session, open_session: Open, sound: Sound, policy: str
) -> None:
    create(db, policy, "max_running => 2")
    fill(db, 5)
    other = open_session()
    other.begin()
    assert len(other.claim("q")) == 2
    assert db.claim("q") == {}
    other.rollback()
    assert len(db.claim("q")) == 2
    sound()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_place_is_free_when_the_end_of_its_job_is_committed(
    db: Session, open_session: Open, sound: Sound, policy: str
) -> None:
    """L09: looked at by each claim, nothing is handed over once."""
    create(db, policy, "max_running => 1")
    fill(db, 3)
    held = db.claim("q", 1)
    other = open_session()
    other.begin()
    assert other.complete(held) == ["ok"]
    assert db.claim("q") == {}, "it may still be rolled back"
    other.rollback()
    assert db.claim("q") == {}
    other.begin()
    assert other.complete(held) == ["ok"]
    assert len(other.claim("q")) == 1, "in the same transaction"
    other.commit()
    assert running(db) == 1
    sound()


def test_a_claim_in_a_long_transaction_keeps_only_what_it_took(
    db: Session, open_session: Open
) -> None:
    """Never fewer while there is work: the places that it did not need are free for others."""
    create(db, "standard", "max_running => 4")
    fill(db, 2)
    other = open_session()
    other.begin()
    assert len(other.claim("q", 10)) == 2
    fill(db, 5)
    db.never_waits()
    assert len(db.claim("q", 10)) == 2
    other.commit()


def test_a_stale_token_frees_no_place(db: Session, clock: Clock, sound: Sound) -> None:
    """L05, L07, L08: an ended lease gives its place back, once, without upkeep."""
    clock.skip_midnight()
    create(db, "standard", "max_running => 1")
    fill(db, 3)
    lost = db.claim("q", 1, "10 s")
    assert db.claim("q") == {}
    clock.advance("11 s")
    again = db.claim("q", 1)
    assert list(again) == list(lost), "the place is its own"
    assert db.complete(lost) == ["lease_lost"]
    assert db.claim("q") == {}
    assert db.complete(again) == ["ok"]
    assert len(db.claim("q")) == 1
    sound()


def test_a_lease_that_is_extended_keeps_its_place(db: Session, clock: Clock) -> None:
    """L06: there is no other clock than that of the lease."""
    clock.skip_midnight()
    create(db, "standard", "max_running => 1")
    fill(db, 2)
    held = db.claim("q", 1, "10 s")
    for _ in range(5):
        clock.advance("9 s")
        db.rows(
            "select * from pgbaton.extend_leases(%s, %s, '10 s')",
            list(held),
            next(iter(held.values())),
        )
        assert db.claim("q") == {}


# Limits that change


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_first_limits_count_what_is_being_claimed(
    db: Session, open_session: Open, sound: Sound, policy: str, end: str
) -> None:
    """L12: they wait for a claim that knows of none."""
    db.rows("select pgbaton.create_queue('q', %s::pgbaton.queue_policy)", policy)
    fill(db, 6)
    claiming = open_session()
    claiming.begin()
    assert len(claiming.claim("q", 3)) == 3
    change = db.start("select pgbaton.set_queue_limits('q', max_running => 4)")
    change.until_blocked(claiming)
    claiming.end(end)
    change.rows()
    taken = claiming.claim("q", 10)
    assert len(taken) == (1 if end == "commit" else 4)
    assert running(db) == used(db) == 4
    sound()


@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("is_limited", [False, True])
def test_a_claim_notices_limits_that_come_while_it_is_under_way(
    db: Session,
    gate: Session,
    open_session: Open,
    sound: Sound,
    policy: str,
    size: int,
    is_limited: bool,
) -> None:
    other = open_session()
    db.rows("select pgbaton.create_queue('q', %s::pgbaton.queue_policy)", policy)
    if is_limited:
        db.rows("select pgbaton.set_queue_limits('q', rate_count => 100, rate_interval => '1 s')")
    fill(db, 10)
    waiting = db.start("select id from pgbaton.claim_job_batch('w', '{q}', batch_size => %s)", size)
    waiting.until_blocked(gate)
    other.rows("select pgbaton.set_queue_limits('q', max_running => 2)")
    assert len(other.claim("q")) == 2
    gate.commit()
    if is_limited:
        assert waiting.rows() == []
    else:
        assert waiting.refusal() == "40001"
    assert running(other) == used(other) == 2
    sound()


def test_a_limit_that_is_lowered_waits_for_open_claims(db: Session, open_session: Open) -> None:
    create(db, "standard", "max_running => 3")
    fill(db, 9)
    claiming, third = open_session(), open_session()
    claiming.begin()
    held = claiming.claim("q", 2)
    assert len(held) == 2
    change = db.start("select pgbaton.set_queue_limits('q', max_running => 1)")
    change.until_blocked(claiming)
    third.never_waits()
    assert third.claim("q") == {}, "nobody starts a job meanwhile, and nobody waits"
    claiming.commit()
    change.rows()
    assert third.claim("q") == {}
    assert claiming.complete(held) == ["ok", "ok"]
    assert len(third.claim("q")) == 1


def test_the_same_limits_again_change_nothing(db: Session) -> None:
    """L23: also while all places are taken."""
    create(db, "standard", "max_running => 1, rate_count => 5, rate_interval => '1 hour'")
    fill(db, 3)
    assert len(db.claim("q")) == 1
    state = "select array_agg(p::text order by p::text) from pgbaton.permit as p"
    before = db.one(state)
    db.rows("select pgbaton.set_queue_limits('q', 1, null, 5, '1 hour')")
    assert db.one(state) == before
    assert db.claim("q") == {}


# Who waits for work


def test_a_full_queue_hides_nobody(db: Session) -> None:
    """L10, L14, L25, R04, R08: whatever stands in front, however many lanes it has."""
    create(db, "standard", "max_running => 1")
    db.rows("select pgbaton.create_queue('other')")
    for n in range(50):
        db.enqueue("q", priority=1000, job_type=f"type {n}")
    other = db.enqueue("other")
    first = db.rows("select id from pgbaton.claim_job_batch('w', batch_size => 1)")
    second = db.rows("select id from pgbaton.claim_job_batch('w', batch_size => 10)")
    assert len(first) == 1
    assert second == [(other,)]


def asleep(open_session: Open, number: int) -> list[Session]:
    """Workers that sleep on queue q and listen."""
    sleepers = [open_session() for _ in range(number)]
    for name, sleeper in enumerate(sleepers):
        for _ in range(3):
            [(channel, wait)] = sleeper.rows(
                "select channel, wait from pgbaton.wait_for_jobs(%s, '{q}')", f"sleeper {name}"
            )
        assert wait > timedelta(seconds=1)
        sleeper.conn.execute(f"listen {channel}")
    return sleepers


def woken(sleepers: list[Session]) -> int:
    heard = 0
    for sleeper in sleepers:
        sleeper.conn.execute("select 1")
        heard += len(list(sleeper.conn.notifies(timeout=0)))
    return heard


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("how", ["complete", "fail", "release", "fail for good"])
def test_a_place_that_gets_free_wakes_a_worker(
    db: Session, open_session: Open, policy: str, how: str
) -> None:
    """L09, L15: one more than there are places, not all of them."""
    create(db, policy, "max_running => 1")
    fill(db, 3)
    held = db.claim("q", 1)
    sleepers = asleep(open_session, 8)
    [(job, token)] = held.items()
    if how == "complete":
        db.complete(held)
    elif how == "release":
        db.rows("select * from pgbaton.release_jobs(%s, %s)", [job], token)
    else:
        db.rows("select pgbaton.fail_job(%s, 'broke', %s, %s, '1 hour')", job, token, how == "fail")
    heard = woken(sleepers)
    if how == "release":
        assert heard >= 1
    else:
        assert heard == 2
    assert len(db.claim("q")) == 1


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("queues", "job_types", "expected"),
    [("q", None, 0), ("other", None, 2), ("q", ["none"], 2), ("not there", None, 2)],
    ids=["takes the place", "of another queue", "finds none", "fails"],
)
def test_who_claims_on_wakes_others_for_a_place_that_stays_free(
    db: Session,
    open_session: Open,
    policy: str,
    queues: str,
    job_types: list[str] | None,
    expected: int,
) -> None:
    create(db, policy, "max_running => 1")
    db.rows("select pgbaton.create_queue('other')")
    fill(db, 3)
    [(job, token)] = db.claim("q", 1).items()
    sleepers = asleep(open_session, 8)
    next_jobs = db.rows(
        "select verdict from pgbaton.complete_and_claim(array[%s::bigint], %s, 'w', array[%s], %s)",
        job,
        token,
        queues,
        job_types,
    )
    assert next_jobs == [("claimed",)] * (expected == 0)
    assert woken(sleepers) == expected
    assert len(db.claim("q")) == (expected > 0)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "limits", ["max_running => 7", "rate_count => 7, rate_interval => '1 hour'"]
)
def test_permits_that_others_have_locked_hide_no_free_one(
    db: Session, open_session: Open, policy: str, limits: LiteralString
) -> None:
    """Each sees all permits free, since nobody has committed, and finds one that is."""
    create(db, policy, limits)
    fill(db, 30)
    others = [open_session() for _ in range(7)]
    for other in others:
        other.begin()
        assert len(other.claim("q", 1)) == 1
    assert db.claim("q", 1) == {}
    others[3].rollback()
    assert len(db.claim("q", 5)) == 1
    for other in others[:3] + others[4:]:
        other.commit()
    assert db.claim("q", 5) == {}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_full_queue_notices_a_lease_that_ends_within_a_tenth_of_a_second(
    db: Session, clock: Clock, policy: str
) -> None:
    create(db, policy, "max_running => 1")
    fill(db, 2)
    assert len(db.claim("q", 1, "1 minute")) == 1
    clock.advance("59.98 seconds")
    assert db.claim("q", 1) == {}  # which looks what has become due
    clock.advance("0.15 seconds")
    assert len(db.claim("q", 1)) == 1


def test_limits_that_are_raised_wake(db: Session, open_session: Open) -> None:
    create(db, "standard", "max_running => 1")
    fill(db, 3)
    db.claim("q", 1)
    sleeper = open_session()
    for _ in range(3):
        [(channel, _)] = sleeper.rows("select * from pgbaton.wait_for_jobs('sleeper', '{q}')")
    sleeper.conn.execute(f"listen {channel}")
    db.rows("select pgbaton.set_queue_limits('q', 2)")
    sleeper.conn.execute("select 1")
    assert list(sleeper.conn.notifies(timeout=0)) != []


def test_an_end_that_is_not_committed_keeps_who_lies_down_awake(
    db: Session, open_session: Open
) -> None:
    """L09: neither sees the other, so the worker looks again within 0.2 s until it is decided."""
    create(db, "standard", "max_running => 1")
    fill(db, 3)
    held = db.claim("q", 1)
    ending, sleeper = open_session(), open_session()
    ending.begin()
    ending.complete(held)
    for _ in range(4):
        wait = sleeper.one("select wait from pgbaton.wait_for_jobs('sleeper', '{q}')")
        assert wait <= timedelta(seconds=0.2)
    ending.commit()
    assert sleeper.one("select wait from pgbaton.wait_for_jobs('sleeper', '{q}')") == timedelta(0)


# Rates


def most_in_a_window(starts: list[datetime], length: timedelta) -> int:
    """The most starts in any half-open interval of that length."""
    starts = sorted(starts)
    return max(sum(1 for other in starts if at <= other < at + length) for at in starts)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("count", "seconds", "burst"), [(1, 3, 1), (4, 10, 4), (6, 10, 2), (6, 10, 1), (150, 60, 150)]
)
def test_no_window_has_more_starts_than_the_rate(
    db: Session, clock: Clock, policy: str, count: int, seconds: int, burst: int
) -> None:
    """R01, R06, R07: wherever it begins; retries are starts, and to wait is no attempt."""
    clock.skip_midnight()
    dice = random.Random(f"{policy} {count} {seconds} {burst}")  # noqa: S311
    rate = f"rate_count => {count}, rate_interval => '{seconds} s', rate_burst => {burst}"
    create(db, policy, rate)  # type: ignore[arg-type]
    db.rows("select pgbaton.update_queue('q', retry_delay => '2 s', retry_backoff => false)")
    jobs = 5 * count
    fill(db, jobs)
    starts: list[datetime] = []
    while len(starts) < 4 * count:
        for job, claimed_at, token, attempt in db.rows(
            "select id, claimed_at, lease_token, attempt from pgbaton.claim_job_batch("
            "'w', '{q}', batch_size => %s)",
            dice.choice([1, 2, 100]),
        ):
            starts.append(claimed_at)
            assert attempt == db.one("select count(*) from pgbaton.job_attempts(%s)", job)
            if dice.random() < 0.3:
                db.rows("select pgbaton.fail_job(%s, 'broke', %s)", job, token)
        clock.advance(f"{dice.choice([0.1, 0.5, 1, seconds / 3])} s")
    length = timedelta(seconds=seconds)
    most = most_in_a_window(starts, length)
    assert most <= count
    assert most == count or burst < count
    assert most_in_a_window(starts, length * burst / count) <= burst


def test_a_rate_is_used_to_the_full(db: Session, clock: Clock) -> None:
    """Never fewer while there is work: a claim at each moment that list_queue_limits names."""
    clock.skip_midnight()
    create(db, "standard", "rate_count => 10, rate_interval => '1 minute'")
    fill(db, 60)
    begin = db.one("select pgbaton._now()")
    started = 0
    while started < 50:
        started += len(db.claim("q", 100))
        [(at,)] = db.rows("select next_start_at from pgbaton.list_queue_limits()")
        clock.advance(f"{(at - db.one('select pgbaton._now()')).total_seconds()} s")
    assert db.one("select pgbaton._now()") - begin == timedelta(minutes=5)


def test_two_claims_share_a_rate(db: Session, open_session: Open) -> None:
    """L02, R09: the other one takes what is left, and locks no more than that."""
    create(db, "standard", "rate_count => 5, rate_interval => '1 hour'")
    jobs = fill(db, 50)
    other = open_session()
    other.begin()
    db.never_waits()
    assert len(other.claim("q", 3)) == 3
    assert len(db.claim("q", 5)) == 2
    cancelled, _ = db.rows("select * from pgbaton.cancel_jobs(job_ids => %s)", jobs[10:])[0]
    assert len(cancelled) == 40, "the backlog is not locked"
    other.commit()


# Keys


@pytest.mark.parametrize("order", ["ab", "ba"])
@pytest.mark.parametrize("again", [True, False])
def test_two_ends_of_one_key_start_two(
    db: Session, open_session: Open, sound: Sound, order: str, again: bool
) -> None:
    create(db, "singleton", "key_limit => 2")
    for _ in range(6):
        db.enqueue("q", "k")
    first, second = db.claim("q"), db.claim("q")
    assert (len(first), len(second), len(db.claim("q"))) == (1, 1, 0)
    a, b = open_session(), open_session()
    for session, held in ((a, first), (b, second)):
        session.never_waits()
        session.begin()
        session.complete(held)
    if again:
        assert db.claim("q") == {}
    for session in (a, b) if order == "ab" else (b, a):
        session.commit()
    assert len(db.claim("q")) + len(db.claim("q")) == 2
    assert db.claim("q") == {}
    sound()


def test_a_key_fills_while_one_of_its_jobs_ends(
    db: Session, open_session: Open, sound: Sound
) -> None:
    """Who ends did not see it full, who started did not see the end: the place is not lost."""
    create(db, "singleton", "key_limit => 2")
    for _ in range(6):
        db.enqueue("q", "k")
    first = db.claim("q")
    ending = open_session()
    ending.begin()
    ending.complete(first)
    second = db.claim("q")
    assert len(second) == 1
    assert db.claim("q") == {}, "it counts who is about to end"
    ending.commit()
    assert len(db.claim("q")) == 1
    assert db.claim("q") == {}
    sound()


def releases(db: Session) -> int:
    return int(db.one("select count(*) from pgbaton.baton_release"))


def test_who_ends_beside_a_holder_leaves_nothing_behind(db: Session) -> None:
    """A release row is for a key that nobody holds."""
    create(db, "singleton", "key_limit => 3")
    for _ in range(6):
        db.enqueue("q", "k")
    claims = [db.claim("q") for _ in range(2)]
    assert [len(jobs) for jobs in claims] == [1, 1]
    for jobs in claims:
        db.complete(jobs)
    assert releases(db) == 0, "the third job has the baton"
    claims = [db.claim("q") for _ in range(4)]
    assert [len(jobs) for jobs in claims] == [1, 1, 1, 0]
    for jobs in claims[:3]:
        db.complete(jobs)
    assert releases(db) > 0, "of a full key nobody has it"
    assert len(db.claim("q")) == 1


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("first", ["end", "start"])
def test_a_key_fills_and_has_room_again_in_two_open_transactions(
    db: Session, open_session: Open, sound: Sound, level: str, first: str
) -> None:
    """Neither sees the other, whoever commits first: the place is not lost."""
    create(db, "singleton", "key_limit => 2")
    for _ in range(4):
        db.enqueue("q", "k")
    held = db.claim("q")
    ending, starting = open_session(), open_session()
    for session in (ending, starting):
        session.never_waits()
        session.begin_with_snapshot(level)
    if first == "end":
        ending.complete(held)
    assert len(starting.claim("q")) == 1, "the second of two"
    if first == "start":
        ending.complete(held)
    for session in (ending, starting) if first == "end" else (starting, ending):
        refused = session.refusal("commit")
        assert refused is None or (level == "serializable" and refused == "40001")
    room = 2 - running(db)
    assert [len(db.claim("q")) for _ in range(3)] == [1] * room + [0] * (3 - room)
    sound()


@pytest.mark.parametrize("how", ["complete", "cancel", "lease end"])
def test_a_job_that_comes_while_the_last_place_gets_free(
    db: Session, open_session: Open, clock: Clock, sound: Sound, how: str
) -> None:
    """A claim has found the key full, and another one that nobody waits: then a job comes, and
    then the place is free."""
    create(db, "singleton", "key_limit => 2")
    for _ in range(2):
        db.enqueue("q", "k")
    if how == "lease end":
        held = dict(
            db.rows(
                "select id, lease_token from pgbaton.claim_job_batch('w', '{q}', lease => '1 s')"
            )
        )
    else:
        held = db.claim("q")
    [job] = held
    ending = open_session()
    ending.never_waits()
    ending.begin()
    if how == "complete":
        ending.complete(held)
    elif how == "cancel":
        ending.rows("select pgbaton.cancel_jobs(job_ids => %s)", [job])
        ending.rows("select pgbaton.acknowledge_cancellation(%s, true, %s)", job, held[job])
    else:
        clock.advance("2 s")
        assert ending.one("select pgbaton.recover_stale_jobs()") == 1
        ending.rows("select pgbaton.cancel_jobs(job_ids => %s)", [job])
    assert len(db.claim("q")) == 1
    assert db.claim("q") == {}
    db.enqueue("q", "k")
    assert db.claim("q") == {}, "it counts who is about to end"
    ending.commit()
    assert len(db.claim("q")) == 1
    assert db.claim("q") == {}
    sound()


def test_a_full_key_in_front_hides_nobody(db: Session) -> None:
    """L10, L20, L25, R04: one key has a thousand jobs, another one a single job."""
    create(db, "singleton", "key_limit => 2")
    db.enqueue_batch("q", 1000, ["big"] * 1000)
    other = db.enqueue("q", "small")
    assert len(db.claim("q")) == 2
    assert len(db.claim("q")) == 1
    assert db.claim("q") == {}
    assert db.one("select state from pgbaton.get_job(%s)", other) == "active"


def test_keys_take_turns(db: Session) -> None:
    """L19: A, B, C, A, B, C, …, out of one call that enqueued them one key after the other."""
    create(db, "singleton", "key_limit => 5")
    jobs = db.enqueue_batch("q", 15, [key for key in "abc" for _ in range(5)])
    taken = [job for _ in range(15) for job in db.claim("q", 1)]
    assert taken == [jobs[5 * key + n] for n in range(5) for key in range(3)]


# All at once


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("policy", "limits"),
    [
        ("standard", "max_running => 3"),
        ("fifo", "max_running => 3"),
        ("singleton", "key_limit => 2"),
        ("singleton", "max_running => 4, key_limit => 2"),
        ("singleton", "max_running => 3, key_limit => 3, rate_count => 5, rate_interval => '1 s'"),
    ],
)
def test_crossed_claims_and_ends(
    db: Session, open_session: Open, clock: Clock, sound: Sound, policy: str, limits: str, seed: int
) -> None:
    """L11, L17, L18: four sessions with open transactions, nobody waits; at rest all is free."""
    clock.skip_midnight()
    dice = random.Random(f"{policy} {limits} {seed}")  # noqa: S311
    create(db, policy, limits)  # type: ignore[arg-type]
    db.rows("select pgbaton.update_queue('q', retry_delay => '1 s', retry_backoff => false)")
    bounds = {
        word: int(number)
        for word, _, number in (part.partition(" => ") for part in limits.split(", "))
        if word in ("max_running", "key_limit")
    }
    players = [Player(open_session()) for _ in range(4)]
    for n in range(60):
        db.enqueue("q", f"k{n % 4}")
    for step in range(150):
        dice.choice(players).move(dice)
        if dice.random() < 0.2:
            clock.advance(f"{dice.choice([0.1, 1])} s")
        assert running(db) <= bounds.get("max_running", 99), step
        most = db.one(
            "select coalesce(max(n.jobs), 0) from (select count(*) as jobs from pgbaton.held_span"
            " group by singleton_key) as n"
        )
        assert policy == "standard" or most <= bounds.get("key_limit", 1), step
    for player in players:
        player.end("commit")
        player.give_back()
    sound()
    assert used(db) == 0
    clock.advance("5 s")
    left = 1
    while left:  # all of them can run
        held = [db.claim("q", 10) for _ in range(5)]
        left = sum(len(jobs) for jobs in held)
        for jobs in held:
            db.complete(jobs)
        clock.advance("1 s")
    assert db.one("select count(*) from pgbaton.span where state <> 'failed'") == 0


class Player:
    """A session that claims and ends jobs in transactions which stay open for a while."""

    def __init__(self, session: Session) -> None:
        self.session = session
        session.never_waits()
        self.is_open = False
        self.held: dict[int, int] = {}
        self.before: dict[int, int] = {}

    def move(self, dice: random.Random) -> None:
        if not self.is_open:
            self.session.begin()
            self.is_open = True
            self.before = dict(self.held)
        move = dice.choice(["claim", "claim", "end", "end", "commit", "commit", "rollback"])
        if move == "claim":
            self.held |= self.session.claim("q", dice.choice([1, 2, 10]))
        elif move == "end" and self.held:
            job = dice.choice(list(self.held))
            self.end_job(job, self.held.pop(job), dice.choice(["complete", "fail", "release"]))
        elif move in ("commit", "rollback"):
            self.end(move)

    def end_job(self, job: int, token: int, how: str) -> None:
        calls: dict[str, tuple[LiteralString, list[Any]]] = {
            "complete": ("select pgbaton.complete_job(%s, null, %s)", [job, token]),
            "fail": ("select pgbaton.fail_job(%s, 'broke', %s)", [job, token]),
            "release": ("select * from pgbaton.release_jobs(%s, %s)", [[job], token]),
        }
        call, arguments = calls[how]
        self.session.rows(call, *arguments)

    def end(self, how: str) -> None:
        if self.is_open:
            self.session.end(how)
            self.is_open = False
            if how == "rollback":
                self.held = self.before

    def give_back(self) -> None:
        for job, token in self.held.items():
            self.end_job(job, token, "release")
        self.held = {}


# A rate of each key

KEYED = ("fifo", "singleton")
ONE_AN_HOUR: LiteralString = "key_rate_count => 1, key_rate_interval => '1 hour'"


def info(db: Session, job: int) -> tuple[str, int, datetime | None]:
    return db.rows("select state, attempt, run_at from pgbaton.get_job(%s)", job)[0]  # type: ignore[return-value]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("policy", KEYED)
def test_two_claims_beside_the_rate_of_a_key(
    db: Session, open_session: Open, sound: Sound, policy: str, level: str
) -> None:
    """Neither waits, whether the other one starts a job of a key or puts it off."""
    create(db, policy, ONE_AN_HOUR)
    for key in ("a", "a", "b", "c"):
        db.enqueue("q", key)
    db.complete(db.claim("q", 1))
    sessions = [open_session() for _ in range(3)]
    for session in sessions:
        session.never_waits()
        session.begin_with_snapshot(level)
    taken = [session.claim("q", 1) for session in sessions]
    assert [len(jobs) for jobs in taken] == [1, 1, 0], "b, which passes a by, and c"
    refused = {session.refusal("commit") for session in sessions}
    if level == "serializable":
        assert refused <= {None, "40001"}
    else:
        assert refused == {None}
        assert db.one("select count(*) from pgbaton.span where run_at > pgbaton._now()") == 1
    sound()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("policy", KEYED)
def test_a_start_that_an_older_snapshot_does_not_see(
    db: Session, open_session: Open, sound: Sound, policy: str, level: str
) -> None:
    create(db, policy, ONE_AN_HOUR)
    job = db.enqueue("q", "a")
    old = open_session()
    old.begin_with_snapshot(level)
    token = db.claim("q")[job]
    db.rows("select pgbaton.fail_job(%s, 'broke', %s, true, '0')", job, token)
    claim = "select count(*) from pgbaton.claim_job_batch('old', '{q}')"
    if level == "read committed":
        assert old.one(claim) == 0
        old.commit()
    else:
        assert old.refusal(claim) == "40001"
        old.rollback()
    assert info(db, job)[:2] == ("retry", 1)
    sound()


@pytest.mark.parametrize("policy", KEYED)
def test_a_claim_that_is_rolled_back_has_started_nothing(
    db: Session, open_session: Open, sound: Sound, policy: str
) -> None:
    """Nor has one whose session dies."""
    create(db, policy, ONE_AN_HOUR)
    first, second = db.enqueue("q", "a"), db.enqueue("q", "a")
    dying, other = open_session(), open_session()
    dying.begin()
    assert list(dying.claim("q")) == [first]
    db.one("select pg_terminate_backend(%s, 10000)", dying.pid)
    held = db.claim("q")
    assert list(held) == [first]
    db.complete(held)
    other.begin()
    assert other.claim("q") == {}, "puts the second one off"
    assert info(other, second)[2] is not None
    other.rollback()
    assert info(db, second)[2] is None
    assert db.claim("q") == {}
    assert info(db, second)[2] is not None
    sound()


def test_a_lease_that_ends_leaves_its_start(db: Session, clock: Clock, sound: Sound) -> None:
    clock.skip_midnight()
    create(db, "fifo", "key_rate_count => 2, key_rate_interval => '1 minute'")
    job = db.enqueue("q", "a")
    for advance, count in (
        ("0", 1),
        ("11 s", 1),
        ("11 s", 0),
        ("37 s", 0),
        ("1 s", 1),
        ("10 s", 0),
    ):
        clock.advance(advance)
        assert len(db.claim("q", 1, "10 s")) == count, advance
    assert info(db, job)[1] == 3
    sound()


@pytest.mark.parametrize("change", ["removed", "raised"])
def test_a_rate_of_keys_that_goes_waits_for_who_puts_off(
    db: Session, open_session: Open, sound: Sound, change: str
) -> None:
    create(db, "fifo", ONE_AN_HOUR)
    job, _ = db.enqueue("q", "a"), db.enqueue("q", "b")
    db.complete(db.claim("q", 1))
    job = db.enqueue("q", "a")
    claiming = open_session()
    claiming.begin()
    assert len(claiming.claim("q")) == 1
    assert info(claiming, job)[2] is not None
    limits = ", key_rate_count => 2, key_rate_interval => '1 hour'" if change == "raised" else ""
    changing = db.start(f"select pgbaton.set_queue_limits('q'{limits})")
    changing.until_blocked(claiming)
    claiming.commit()
    changing.rows()
    assert list(db.claim("q")) == [job]
    sound()


@pytest.mark.parametrize(
    "was", ["key_rate_count => 5, key_rate_interval => '1 hour'", "max_running => 9"]
)
def test_a_claim_under_way_obeys_the_rate_of_keys_that_is_set_meanwhile(
    db: Session, gate: Session, open_session: Open, sound: Sound, was: LiteralString
) -> None:
    create(db, "fifo", was)
    for key in ("a", "a", "b"):
        db.enqueue("q", key)
    other = open_session()
    waiting = db.start("select singleton_key from pgbaton.claim_job_batch('w', '{q}')")
    waiting.until_blocked(gate)
    other.rows(f"select pgbaton.set_queue_limits('q', {ONE_AN_HOUR})")
    assert other.complete(other.claim("q", 1)) == ["ok"]
    gate.commit()
    assert waiting.rows() == [("b",)]
    sound()


def test_the_first_rate_of_keys_beside_a_claim_that_knows_of_none(
    db: Session, gate: Session, open_session: Open, sound: Sound
) -> None:
    db.rows("select pgbaton.create_fifo_queue('q')")
    job = db.enqueue("q", "a")
    other = open_session()
    waiting = db.start("select id from pgbaton.claim_job_batch('w', '{q}')")
    waiting.until_blocked(gate)
    other.rows(f"select pgbaton.set_queue_limits('q', {ONE_AN_HOUR})")
    gate.commit()
    assert waiting.refusal() == "40001"
    assert list(db.claim("q")) == [job]
    sound()


@pytest.mark.parametrize("end", ["commit", "rollback"])
@pytest.mark.parametrize(
    "call",
    [
        "select pgbaton.reschedule_job('q', %s)",
        "select pgbaton.change_priority('q', %s, 50)",
        "select pgbaton.delete_job('q', %s)",
    ],
)
def test_an_operator_beside_a_claim_that_puts_off(
    db: Session, open_session: Open, sound: Sound, call: LiteralString, end: str
) -> None:
    """The call waits for the claim, and lets nothing start."""
    create(db, "fifo", ONE_AN_HOUR)
    db.enqueue("q", "a")
    db.complete(db.claim("q"))
    job = db.enqueue("q", "a")
    behind = db.enqueue("q", "a")
    claiming = open_session()
    claiming.begin()
    assert claiming.claim("q") == {}
    moving = db.start(call, job)
    moving.until_blocked(claiming)
    claiming.end(end)
    moving.rows()
    assert db.claim("q") == {}
    first = behind if "delete" in call else job
    assert info(db, first)[:2] == ("pending", 0)
    assert info(db, first)[2] is not None
    sound()


@pytest.mark.parametrize("how", ["commit", "rollback"])
def test_upkeep_and_claims_beside_the_row_of_one_key(
    db: Session, open_session: Open, clock: Clock, sound: Sound, how: str
) -> None:
    """Neither waits when the interval of a key is over, and no start since then is forgotten.

    The claims cannot remove the row that upkeep has locked: undone, it leaves an old and a new one.
    """
    clock.skip_midnight()
    db.rows("select pgbaton.run_maintenance()")  # a new day has its partitions
    create(db, "fifo", "key_rate_count => 2, key_rate_interval => '1 minute'")
    for _ in range(4):
        db.enqueue("q", "a")
    db.complete(db.claim("q"))
    clock.advance("1 minute")
    upkeep = open_session()
    upkeep.begin()
    assert "failed" not in upkeep.one("select pgbaton.run_maintenance()")
    db.never_waits()
    db.complete(db.claim("q"))
    held = db.claim("q")
    upkeep.end(how)
    rows = "select count(*) from pgbaton.key_start"
    assert db.one(rows) == (1 if how == "commit" else 2)
    assert db.complete(held) == ["ok"]
    clock.advance("10 seconds")
    assert "failed" not in db.one("select pgbaton.run_maintenance()")
    assert db.one(rows) == 1
    assert db.claim("q") == {}
    clock.advance("50 seconds")
    assert len(db.claim("q")) == 1
    sound()


def test_who_sleeps_past_the_time_of_a_key_is_woken(db: Session, open_session: Open) -> None:
    """Somebody else put its job off, and may be busy when it is due."""
    limits: LiteralString = "max_running => 2, key_rate_count => 1, key_rate_interval => '5 s'"
    create(db, "fifo", limits)
    first, second = db.enqueue("q", "a"), db.enqueue("q", "b")
    held = db.claim("q", 2)
    put_off, other = db.enqueue("q", "a"), db.enqueue("q", "d")
    db.complete({first: held[first]})
    assert list(db.claim("q", 1)) == [other], "the second one of a stands behind it"
    last = db.enqueue("q", "e")
    for n in range(4):
        sleeper = open_session()
        for _ in range(3):
            sleeper.rows("select * from pgbaton.wait_for_jobs(%s, '{q}')", f"sleeper {n}")
    assert db.one("select min(asleep_until) > pgbaton._now() + '10 s' from pgbaton.sleeper")
    db.complete({second: held[second]})
    assert db.one("select count(*) from pgbaton.sleeper") == 2, "two come for one place"
    assert list(db.claim("q")) == [last]
    assert info(db, put_off)[2] is not None
    assert db.one("select count(*) from pgbaton.sleeper") == 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("policy", KEYED)
def test_no_window_of_a_key_has_more_starts_and_none_starts_later_than_it_may(
    db: Session, clock: Clock, sound: Sound, policy: str, seed: int
) -> None:
    clock.skip_midnight()
    dice = random.Random(f"{policy} {seed}")  # noqa: S311
    count, length = dice.choice([(1, 3.0), (2, 5.0), (5, 4.0), (3, 0.7)])
    limits = f"key_rate_count => {count}, key_rate_interval => '{length} s'"
    if policy == "singleton":
        limits += f", key_limit => {dice.choice([1, 2, 3])}"
    create(db, policy, limits)  # type: ignore[arg-type]
    db.rows(
        "select pgbaton.update_queue('q', lease => '4 s', max_attempts => null,"
        " retry_backoff => false, retry_delay => '0')"
    )
    keys = "abcd"
    db.enqueue_batch("q", 120, [key for key in keys for _ in range(30)])
    starts: dict[str, list[datetime]] = {key: [] for key in keys}
    held: dict[int, int] = {}
    for _ in range(120):
        size = dice.choice([1, 2, 100])
        claimed = db.rows(
            "select id, lease_token, singleton_key, claimed_at from pgbaton.claim_job_batch("
            "'w', '{q}', batch_size => %s)",
            size,
        )
        now = db.one("select pgbaton._now()")
        for job, token, key, at in claimed:
            held[job] = token
            starts[key].append(at)
        if policy == "fifo" and len(claimed) < size:
            idle = {
                key
                for (key,) in db.rows(
                    "select singleton_key from pgbaton.span group by 1"
                    " having not bool_or(state in ('active', 'cancelling'))"
                )
            }
            for key in idle:
                newest = [at for at in starts[key] if at + timedelta(seconds=length) > now]
                assert len(newest) >= count, f"{key} may start and does not"
        for job in dice.sample(sorted(held), len(held) // 2):
            token = held.pop(job)
            act = dice.choice(["complete", "complete", "fail", "release", "lose"])
            if act == "complete":
                db.rows("select * from pgbaton.complete_jobs(%s, %s)", [job], token)
            elif act == "release":
                db.rows("select * from pgbaton.release_jobs(%s, %s)", [job], token)
            elif act == "fail":
                db.rows(
                    "select * from pgbaton.fail_jobs(%s::bigint[], '{broke}', %s)", [job], token
                )
        if dice.random() < 0.2:
            db.rows("select pgbaton.run_maintenance()")
        clock.advance(f"{dice.choice([0.05, 0.3, 1, length / count])} s")
    most = [most_in_a_window(starts[key], timedelta(seconds=length)) for key in keys]
    assert max(most) == count
    sound()


def test_keys_that_wait_are_not_passed(db: Session, open_session: Open) -> None:
    """R04, R12: a claim reads no more with a thousand keys that are used up than with ten."""
    reads: LiteralString = """
        select coalesce(sum(pg_stat_get_xact_blocks_fetched(c.oid)), 0)::int from pg_class as c
        where c.relnamespace = 'pgbaton'::regnamespace
    """
    read = []
    for number in (10, 1000):
        queue = f"q{number}"
        create(db, "fifo", ONE_AN_HOUR, queue)
        keys = [f"k{n}" for n in range(number)]
        db.enqueue_batch(queue, 2 * number, keys + keys)
        db.complete(db.claim(queue, number))
        assert db.claim(queue, number) == {}
        for _ in range(2):
            db.enqueue(queue, "free")
            db.begin()
            before = db.one(reads)
            held = db.claim(queue, 10)
            after = db.one(reads)
            db.commit()
            assert len(held) == 1
            db.complete(held)
            db.rows("delete from pgbaton.key_start where singleton_key = 'free'")
            db.rows("select pgbaton.run_maintenance()")
        read.append(after - before)
    # The upkeep by the way reads a few more or less; to pass the keys would be a thousand.
    assert read[1] <= read[0] + 200, read


@pytest.mark.parametrize("level", LEVELS)
def test_a_claim_that_looks_again_gets_no_second_job_of_a_key(
    db: Session, open_session: Open, sound: Sound, level: str
) -> None:
    """It sets a job of a paused key aside; meanwhile somebody leaves its key to the next claim."""
    create(db, "singleton", "key_limit => 2")
    db.enqueue("q", "paused")
    mine, next_one = (db.enqueue("q", "k") for _ in range(2))
    db.rows("select pgbaton.pause_key('q', 'paused')")
    db.rows("""
        create function public.wait_for_4711() returns trigger language plpgsql as $$
        begin
            perform pg_advisory_lock_shared(4711), pg_advisory_unlock_shared(4711);
            return new;
        end $$
    """)
    db.rows(
        "create trigger set_aside before update on pgbaton.span for each row"
        " when (old.ready and not new.ready and new.state = 'pending')"
        " execute function public.wait_for_4711()"
    )
    try:
        worker = open_session()
        worker.rows(f"set default_transaction_isolation = '{level}'")
        db.rows("select pg_advisory_lock(4711)")
        claim = worker.start("select id from pgbaton.claim_job_batch('w', '{q}') order by id")
        claim.until_blocked(db)
        db.rows("select pgbaton._release_keys(array[q.id], '{k}') from pgbaton.queue as q")
        db.rows("select pg_advisory_unlock(4711)")
        assert claim.rows() == [(mine,)]
    finally:
        db.rows("drop function public.wait_for_4711() cascade")
    assert list(db.claim("q")) == [next_one]
    sound()


def test_two_claims_beside_a_limit_that_was_lowered(
    db: Session, open_session: Open, sound: Sound
) -> None:
    """Who cannot look at the places above it, since another claim does, starts nothing."""
    create(db, "standard", "max_running => 4")
    fill(db, 8)
    first = db.claim("q", 4)
    db.rows("select pgbaton.set_queue_limits('q', max_running => 2)")
    db.complete(dict(list(first.items())[:3]))
    one, two = open_session(), open_session()
    two.never_waits()
    one.begin()
    assert len(one.claim("q", 1)) == 1
    assert two.claim("q", 1) == {}
    one.rollback()
    assert len(two.claim("q", 3)) == 1
    assert running(db) == used(db) == 2
    sound()
