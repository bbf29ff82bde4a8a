"""A worker that sleeps, alone on the server, hears of each job that becomes claimable, or looks.

Each way in which one does, from the catalog, beside an overlapping transaction, in each order of
their commits, isolation level and policy. The sleeper does what wait_for_jobs tells it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from invariants import empty
from psycopg import sql
from sessions import Clock, Session

Open = Callable[[], Session]
LEVELS = ("read committed", "repeatable read", "serializable")
POLICIES = ("standard", "fifo", "continue", "singleton", "stately", "short", "exclusive")
BATON = ("fifo", "continue", "singleton", "stately")
AT_ONCE = 0.2

# Functions that make no job claimable, or whose way stands elsewhere.
NEVER = {
    "makes nothing claimable": """create_queue create_fifo_queue drop_queue pause_key pause_queue
        subscribe unsubscribe create_schedule drop_schedule pause_schedule kv_delete start_jobs
        report_progress extend_leases worker_heartbeat spark_begin spark_stage spark_abort spark_gc
        note_enqueue_counts claim_job_batch wait_for_jobs cleanup_expired_jobs two_phase_backoff
        why_not_running unregister_worker parent_outcomes blocked_jobs job_dependencies""",
    "the trigger of the view enqueue_inbox, which is tried": "enqueue_inbox_rows",
    "what it makes due or takes back, a sleeper's own look does as well: by the clock, below":
        "run_maintenance recover_stale_jobs",
    "another role's queues: test_a_grant_wakes": "grant_queue revoke_queue",
    "leases only: test_a_shorter_lease_wakes": "update_queue",
    "limits, in test_limits.py": "set_queue_limits",
    "it was claimable before: test_a_job_that_changes_its_lane_is_not_missed": "change_priority",
    "test_order_that_is_given_up_wakes, since it waits for open producers": "set_fifo_mode",
}  # fmt: skip


@dataclass
class Scene:
    """A queue in which nothing is claimable, and what a way needs to know."""

    db: Session
    policy: str
    job: int = 0
    token: int = 0
    attempt: str = "00000000-0000-0000-0000-000000000001"
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str | None:
        return None if self.policy == "standard" else "k"

    def create(self, **settings: Any) -> None:
        policy = "fifo" if self.policy == "continue" else self.policy
        self.db.rows(
            "select pgbaton.create_queue('q', %s::text::pgbaton.queue_policy, max_attempts => 20,"
            " on_exhausted => %s::text::pgbaton.on_exhausted, retry_delay => '0',"
            " retry_backoff => false, lease => '1 hour')",
            policy,
            "continue" if self.policy == "continue" else "block",
        )

    def run_one(self) -> None:
        self.job = self.db.enqueue("q", self.key, tags=["first"])
        [(job, self.token)] = self.db.claim("q", 1).items()
        assert job == self.job

    def run_one_before_another(self) -> None:
        self.run_one()
        self.db.enqueue("q", self.key)

    def fail_one(self) -> None:
        self.run_one()
        self.db.rows("select pgbaton.fail_job(%s, 'no', %s, false)", self.job, self.token)

    def fail_one_before_another(self) -> None:
        self.fail_one()
        self.db.enqueue("q", self.key)

    def cancel_one_before_another(self) -> None:
        self.run_one_before_another()
        self.db.rows("select pgbaton.cancel_jobs(job_ids => array[%s])", self.job)

    def schedule_one_before_another(self) -> None:
        self.job = self.db.enqueue("q", self.key, run_at="2100-01-01")
        self.db.enqueue("q", self.key)

    def schedule_one(self) -> None:
        self.job = self.db.enqueue("q", self.key, run_at="2100-01-01")

    def schedule_known(self) -> None:
        self.job = self.db.enqueue("q", self.key, dedup_id="d", run_at="2100-01-01")

    def run_one_before_a_child(self) -> None:
        self.run_one()
        self.db.rows(
            "select pgbaton.enqueue_job('q', singleton_key => %s, after => array[%s::bigint])",
            None if self.policy == "standard" else "child", self.job,
        )  # fmt: skip

    def hold_one(self) -> None:
        self.run_one_before_a_child()
        self.job = self.db.one("select child_id from pgbaton.job_wait")

    def subscribe(self) -> None:
        self.db.rows("select pgbaton.subscribe('q', 'news')")

    def stage(self) -> None:
        self.db.rows("select pgbaton.spark_begin('run', 1)")
        self.db.rows(
            "select pgbaton.spark_stage('run', %s, 0, 0, 'q', '{1}', %s)",
            self.attempt, [self.key] if self.key else None,
        )  # fmt: skip

    def make_schedule(self) -> None:
        self.db.rows(
            "select pgbaton.create_schedule('s', 'q', '0 0 1 1 *', singleton_key => %s)", self.key
        )

    def pause_key(self) -> None:
        self.db.rows("select pgbaton.pause_key('q', 'k')")
        self.db.enqueue("q", self.key)
        assert not self.db.claim("q")

    def pause_queue(self) -> None:
        self.db.rows("select pgbaton.pause_queue('q')")
        self.db.enqueue("q", self.key)


@dataclass(frozen=True)
class Way:
    call: str
    prepare: Callable[[Scene], None]
    policies: tuple[str, ...] = POLICIES


def nothing(scene: Scene) -> None:
    """Nothing was there before."""


ONE, TWO, FAILED = Scene.run_one, Scene.run_one_before_another, Scene.fail_one
FAILED_TWO = Scene.fail_one_before_another
WAYS = {
    way.call: way
    for way in [
        Way("enqueue_job('q', singleton_key => %(key)s)", nothing),
        Way("enqueue_job('q', singleton_key => %(key)s, dedup_id => 'd')", nothing),
        Way("enqueue_job('q', singleton_key => %(key)s, dedup_id => 'd',"
            " on_duplicate => 'replace')",
            nothing),
        Way("enqueue_job('q', singleton_key => %(key)s, dedup_id => 'd', delay => '0',"
            " on_duplicate => 'replace')", Scene.schedule_known),
        Way("enqueue_batch('q', '{1}', case when %(key)s <> '' then array[%(key)s] end)", nothing),
        Way("enqueue_jobs('q', jsonb_build_array(jsonb_strip_nulls(jsonb_build_object("
            "'singleton_key', %(key)s::text, 'priority', 7))))", nothing),
        Way("publish('news', '1', singleton_key => %(key)s)", Scene.subscribe),
        Way("inbox", nothing),
        Way("spark_commit('run', array[%(attempt)s::uuid], 1)", Scene.stage),
        Way("complete_job(%(job)s, lease_token => %(token)s)", TWO, BATON),
        Way("complete_jobs(array[%(job)s], %(token)s)", TWO, BATON),
        Way("complete_claim(%(token)s)", TWO, BATON),
        # It claims jobs of a type that there is none of, so that what it passes on is for others.
        Way("complete_and_claim(array[%(job)s], %(token)s, 'other', job_types => '{none}')",
            TWO, BATON),
        Way("complete_job(%(job)s, '{}', %(token)s)", Scene.run_one_before_a_child),
        Way("fail_job(%(job)s, 'no', %(token)s)", ONE),
        Way("fail_job(%(job)s, 'no', %(token)s, false)", TWO, ("continue", "singleton", "stately")),
        Way("fail_jobs(array[%(job)s], '{no}', %(token)s)", ONE),
        Way("release_jobs(array[%(job)s], %(token)s)", ONE),
        Way("stop_job(%(job)s, '', %(token)s)", TWO, BATON),
        Way("stop_job_with_retry(%(job)s, 'no', %(token)s)", Scene.cancel_one_before_another,
            ("fifo", "continue")),
        Way("mark_job_unknown_stopped(%(job)s)", TWO, BATON),
        Way("acknowledge_cancellation(%(job)s, true, %(token)s)", Scene.cancel_one_before_another,
            BATON),
        Way("mark_worker_unresponsive(%(worker)s)", ONE),
        Way("reset_running_jobs('q')", ONE),
        Way("cancel_jobs(job_ids => array[%(job)s])", Scene.schedule_one_before_another,
            ("fifo", "continue")),
        Way("delete_jobs(job_ids => array[%(job)s])", FAILED_TWO, ("fifo",)),
        Way("delete_job('q', %(job)s)", FAILED_TWO, ("fifo",)),
        Way("delete_dead_job(%(job)s)", FAILED_TWO, ("fifo",)),
        Way("purge_dead_jobs('q', true)", FAILED_TWO, ("fifo",)),
        Way("skip_job('q', %(job)s)", FAILED_TWO, ("fifo",)),
        Way("requeue_dead_job(%(job)s)", FAILED_TWO, ("fifo",)),
        Way("retry_job('q', %(job)s)", FAILED),
        Way("retry_jobs('q')", FAILED),
        Way("act_on_jobs('retry', '{\"queue\": \"q\"}')", FAILED),
        Way("act_on_jobs('skip', '{\"queue\": \"q\"}')", FAILED_TWO, ("fifo",)),
        Way("act_on_jobs('requeue', '{\"queue\": \"q\"}')", FAILED_TWO, ("fifo",)),
        Way("act_on_jobs('delete', '{\"queue\": \"q\", \"states\": [\"failed\"]}')", FAILED_TWO,
            ("fifo",)),
        Way("act_on_jobs('erase', '{\"queue\": \"q\"}')", FAILED_TWO, ("fifo",)),
        Way("act_on_jobs('reschedule', '{\"queue\": \"q\"}')", Scene.schedule_one),
        Way("run_schedule('s')", Scene.make_schedule),
        Way("reset_fifo_key('q', 'k', 'why')", FAILED_TWO, ("fifo",)),
        Way("reschedule_job('q', %(job)s)", Scene.schedule_one),
        Way("stop_waiting('q', %(job)s)", Scene.hold_one),
        Way("resume_key('q', 'k')", Scene.pause_key, ("fifo", "continue", "singleton", "stately")),
        Way("resume_queue('q')", Scene.pause_queue),
    ]
}  # fmt: skip
# The way is A, somebody who enqueues for the same key is B. "w": the sleeper lies down only now.
ORDERS = {
    "alone": "A a",
    "B begins and ends first": "B A b a",
    "B begins first and ends last": "B A a b",
    "A begins and ends first": "A B a b",
    "A begins first and ends last": "A B b a",
    "A has an older snapshot": "S B b A a",
    "B has an older snapshot": "T A a B b",
    "A is open as it lies down": "A w a",
    "both are open as it lies down": "A B w b a",
}
CASES = [
    (call, policy, level, order)
    for call, way in WAYS.items()
    for policy in way.policies
    for level in LEVELS
    for order in ORDERS
]


class Sleeper:
    """Does what the comment of wait_for_jobs says, without a clock: what it sleeps is noted."""

    def __init__(self, session: Session, queue: str = "q") -> None:
        self.session, self.queue = session, queue
        self.wait = 0.0
        self.jobs: list[int] = []
        self.looks = 0

    def look(self) -> None:
        self.looks += 1
        [(channel, wait)] = self.session.rows(
            "select channel, wait from pgbaton.wait_for_jobs('sleeper', array[%s])", self.queue
        )
        self.session.conn.execute(sql.SQL("listen {}").format(sql.Identifier(channel)))
        self.wait = wait.total_seconds()
        if self.wait == 0:
            self.jobs += self.claim()
            self.wait = AT_ONCE

    def claim(self) -> list[int]:
        return [
            row[0]
            for row in self.session.rows(
                "select id from pgbaton.claim_job_batch('sleeper', array[%s])", self.queue
            )
        ]

    def lie_down(self) -> None:
        """Until it sleeps long."""
        for _ in range(3):
            self.look()
        assert self.wait > AT_ONCE, self.wait

    def heard(self) -> int:
        self.session.conn.execute("select 1")
        return len(list(self.session.conn.notifies(timeout=0)))

    def passes(self) -> None:
        """A moment: it comes when it was notified, or looks again within 0.2 s anyway."""
        if self.heard() or self.wait <= AT_ONCE:
            self.look()


class Party:
    """One of the two transactions. What fails with 40001 is done again when the other has ended."""

    def __init__(self, session: Session, level: str, call: Callable[[Session], object]) -> None:
        self.session, self.level, self.call = session, level, call
        self.waiting: Any = None
        self.is_undone = False

    def snapshot(self) -> None:
        self.session.begin_with_snapshot(self.level)

    def act(self) -> None:
        if self.session.conn.info.transaction_status == 0:
            self.session.begin(self.level)
        try:
            self.call(self.session)
        except psycopg.Error as error:
            assert error.sqlstate in ("40001", "55P03", "PB006"), error  # noqa: PT017
            self.is_undone = error.sqlstate != "PB006"
            self.session.rollback()

    def commit(self) -> None:
        if self.session.conn.info.transaction_status == 0:
            return
        try:
            self.session.commit()
        except psycopg.errors.SerializationFailure:
            self.is_undone = True

    def again(self) -> None:
        if self.is_undone:
            self.session.begin()
            try:
                self.call(self.session)
            except psycopg.Error as error:  # by now there is nothing to do any more
                assert error.sqlstate[:2] == "PB", error  # noqa: PT017
                self.session.rollback()
            else:
                self.session.commit()


def act(scene: Scene, call: str, session: Session) -> None:
    named = {
        "key": scene.key, "job": scene.job, "token": scene.token, "attempt": scene.attempt,
        "worker": f"worker {scene.db.pid}",
    }  # fmt: skip
    if call == "inbox":
        session.rows(
            "insert into pgbaton.enqueue_inbox (queue, payload, singleton_key)"
            " values ('q', '1', %(key)s)",
            **named,
        )
    else:
        session.rows("select pgbaton." + call, **named)  # type: ignore[arg-type]


def enqueue(scene: Scene, session: Session) -> None:
    session.rows("select pgbaton.enqueue_job('q', singleton_key => %s)", scene.key)


@pytest.fixture(scope="module")
def stage(races_dsn: str) -> Iterator[list[Session]]:
    """Four sessions for all cases: opening them takes longer than a case."""
    with psycopg.connect(races_dsn, autocommit=True) as observer:
        sessions = [Session(races_dsn, observer) for _ in range(4)]
        for session in sessions:
            session.rows("set lock_timeout = '20ms'")
        yield sessions
        for session in sessions:
            session.close()


def play(stage: list[Session], call: str, policy: str, level: str, order: str) -> None:
    db, first, second, asleep = stage
    for session in stage:
        session.rows("rollback")
        session.rows("unlisten *")
        session.rows("discard sequences")  # which empty() begins anew
        list(session.conn.notifies(timeout=0))
    empty(db.conn)
    db.stop_autovacuum()  # which locks a table to cut its end off, longer than a call may wait here
    scene = Scene(db, policy)
    scene.create()
    WAYS[call].prepare(scene)
    sleeper = Sleeper(asleep)
    steps = ORDERS[order].split()
    if "w" not in steps:
        sleeper.lie_down()
    a = Party(first, level, lambda session: act(scene, call, session))
    b = Party(second, level, lambda session: enqueue(scene, session))
    for step in steps:
        {
            "A": a.act, "a": a.commit, "S": a.snapshot,
            "B": b.act, "b": b.commit, "T": b.snapshot, "w": sleeper.look,
        }[step]()  # fmt: skip
        sleeper.passes()
    for party in (a, b):
        party.commit()
        sleeper.passes()
        party.again()
        sleeper.passes()
    for _ in range(3):
        sleeper.passes()
    left = db.claim("q")
    assert not left, (call, policy, level, order, sleeper.wait, sleeper.jobs)
    assert sleeper.jobs, (call, policy, level, order, "nothing became claimable")


def play_all(stage: list[Session], cases: list[tuple[str, str, str, str]]) -> list[str]:
    failed = []
    for case in cases:
        try:
            play(stage, *case)
        except AssertionError as error:
            failed.append(f"{case}: {str(error).splitlines()[0]}")
    return failed


def test_some_of_the_matrix(stage: list[Session]) -> None:
    """Each way once, and 100 more."""
    dice = random.Random(15)  # noqa: S311
    some = [dice.choice([c for c in CASES if c[0] == call]) for call in WAYS]
    some += dice.sample(CASES, 100)
    print(f"{len(some)} of {len(CASES)} cases")
    assert play_all(stage, some) == []


@pytest.mark.proof
@pytest.mark.timeout(1800)
def test_the_whole_matrix(stage: list[Session]) -> None:
    print(f"{len(CASES)} cases: {len(WAYS)} ways, {len(ORDERS)} orders, {len(LEVELS)} levels")
    assert play_all(stage, CASES) == []


def test_every_function_has_its_way(open_session: Open) -> None:
    public = {
        row[0]
        for row in open_session().rows(
            "select p.proname from pg_proc as p where p.pronamespace = 'pgbaton'::regnamespace"
            " and p.provolatile = 'v' and p.prorettype <> 'trigger'::regtype"
            " and not has_function_privilege('pgbaton_monitor', p.oid, 'execute')"
            " and left(p.proname, 1) <> '_'"
        )
    }
    tried = {call.partition("(")[0] for call in WAYS} - {"inbox"}
    excused = {name for names in NEVER.values() for name in names.split()}
    assert not tried & excused
    assert public - tried - excused == set(), "give them a way or a reason"
    assert tried <= public


# Ways that need something else


CHANGES_OF_LANE: list[str] = [
    "change_priority('q', %s, 7)",
    "act_on_jobs('prioritize', jsonb_build_object('ids', array[%s::bigint]), priority => 7)",
]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("end", ["commit", "rollback"])
@pytest.mark.parametrize("change", CHANGES_OF_LANE)
def test_a_job_that_changes_its_lane_is_not_missed(
    open_session: Open, level: str, end: str, change: str
) -> None:
    db, a, session = open_session(), open_session(), open_session()
    session.rows(f"set default_transaction_isolation = '{level}'")
    db.rows("select pgbaton.create_queue('q')")
    job = db.enqueue("q")
    a.begin()
    a.conn.execute(f"select pgbaton.{change}".encode(), [job])
    sleeper = Sleeper(session)
    for _ in range(5):
        sleeper.look()
        assert sleeper.jobs == [], "the row is locked"
    a.end(end)
    sleeper.passes()
    assert sleeper.jobs == [job]


@pytest.mark.parametrize(
    ("policy", "level"),
    # Of singleton it goes back to the line of its key, which an older snapshot leaves to others.
    [*((policy, level) for policy in ("standard", "fifo") for level in LEVELS),
     ("singleton", "read committed")],
)  # fmt: skip
def test_a_sleep_ends_when_a_job_falls_due_or_a_lease_ends(
    open_session: Open, policy: str, level: str
) -> None:
    """Also one that began after the worker lay down, and none of other queues."""
    db, session = open_session(), open_session()
    scene = Scene(db, policy)
    with Clock(db.conn) as clock:
        scene.create()
        db.rows("select pgbaton.create_queue('theirs')")
        db.rows("select pgbaton.enqueue_job('theirs', delay => '1 second')")
        sleeper = Sleeper(session)
        session.rows(f"set default_transaction_isolation = '{level}'")
        sleeper.lie_down()
        assert sleeper.wait == 30
        for seconds in (9, 3):
            if seconds == 9:
                db.enqueue("q", scene.key, delay="9 seconds")
            else:
                db.enqueue("q", scene.key)
                db.claim("q", 1, "3 seconds")
            assert sleeper.heard(), "it would sleep longer"
            sleeper.lie_down()
            assert sleeper.wait == pytest.approx(seconds, abs=0.001)
            assert sleeper.jobs == []
            clock.advance(f"{sleeper.wait} s")
            sleeper.look()
            sleeper.passes()  # of a key it goes to its line first
            [job] = sleeper.jobs
            db.rows("select pgbaton.complete_job(%s, lease_token => s.lease_token)"
                    " from pgbaton.span as s where s.lo = %s", job, job)  # fmt: skip
            sleeper.jobs.clear()
            sleeper.lie_down()
        assert sleeper.wait == 30


def test_nobody_sleeps_longer_than_a_lease_of_its_queues(open_session: Open) -> None:
    db, session = open_session(), open_session()
    db.rows("select pgbaton.create_queue('q', lease => '5 seconds')")
    sleeper = Sleeper(session)
    sleeper.lie_down()
    assert sleeper.wait == 5
    db.rows("select pgbaton.update_queue('q', lease => '2 seconds')")
    assert sleeper.heard(), "a shorter lease wakes"
    sleeper.lie_down()
    assert sleeper.wait == 2


@pytest.mark.parametrize("level", LEVELS)
def test_order_that_is_given_up_wakes(open_session: Open, level: str) -> None:
    db, session, other = open_session(), open_session(), open_session()
    scene = Scene(db, "fifo")
    scene.create()
    scene.run_one_before_another()
    sleeper = Sleeper(session)
    sleeper.lie_down()
    other.begin(level)
    other.rows("select pgbaton.set_fifo_mode('q', false, true)")
    other.commit()
    assert sleeper.heard()


@pytest.mark.parametrize("level", LEVELS)
def test_one_notification_until_it_comes_back(open_session: Open, level: str) -> None:
    """Fifty enqueues, one transaction each or one for all, one notification."""
    db, session = open_session(), open_session()
    db.rows("select pgbaton.create_queue('q')")
    sleeper = Sleeper(session)
    before = db.one("select pgbaton.wake_ups()")
    for _ in range(2):
        sleeper.look()
        assert sleeper.heard() == 0
        for _ in range(50):
            db.enqueue("q")
        assert sleeper.heard() == 1
        db.claim("q", 100)
    assert db.one("select pgbaton.wake_ups()") == before + 2
    sleeper.look()
    db.begin(level)
    for _ in range(50):
        db.enqueue("q")
    db.commit()
    assert sleeper.heard() == 1


def test_a_notification_that_is_rolled_back_leaves_it_asleep(open_session: Open) -> None:
    db, session, third = open_session(), open_session(), open_session()
    db.rows("select pgbaton.create_queue('q')")
    sleeper = Sleeper(session)
    sleeper.lie_down()
    db.never_waits()
    third.never_waits()
    db.begin()
    db.enqueue("q")
    third.enqueue("q")
    assert sleeper.heard() == 1, "by the other, whom the open one does not stop"
    db.rollback()
    third.enqueue("q")
    assert sleeper.heard() == 1


def test_an_idle_system_stays_idle(open_session: Open) -> None:
    """Beside a transaction that has written something else, too."""
    db, session, stranger = open_session(), open_session(), open_session()
    db.rows("select pgbaton.create_queue('q')")
    stranger.begin()
    stranger.rows("create table public.something ()")
    sleeper = Sleeper(session)
    for wait in [0.2, 30, 30, 30]:
        sleeper.look()
        assert sleeper.wait == wait


def test_another_role_of_the_same_name(open_session: Open) -> None:
    db, mine, theirs = open_session(), open_session(), open_session()
    db.rows("select pgbaton.create_queue('q'), pgbaton.create_queue('theirs')")
    db.rows("drop role if exists pgbaton_test_other")
    db.rows("create role pgbaton_test_other in role pgbaton_worker")
    db.rows("select pgbaton.grant_queue('pgbaton_test_other', 'theirs', 'work')")
    try:
        theirs.rows("set role pgbaton_test_other")
        sleeper, other = Sleeper(mine), Sleeper(theirs, "theirs")
        sleeper.lie_down()
        other.lie_down()
        channels = db.rows("select distinct channel from pgbaton.sleeper")
        assert len(channels) == 2
        theirs.rows("select pgbaton.wait_for_jobs('sleeper')")  # all of its queues
        theirs.rows("select * from pgbaton.claim_job_batch('sleeper')")
        db.enqueue("q")
        assert (sleeper.heard(), other.heard()) == (1, 0)
        db.enqueue("theirs")
        assert (sleeper.heard(), other.heard()) == (0, 1)
        other.lie_down()
        db.rows("select pgbaton.revoke_queue('pgbaton_test_other', 'theirs', 'work')")
        assert other.heard() == 1
    finally:
        theirs.rows("reset role")
        db.rows("delete from pgbaton.queue_grant")
        db.rows("drop role pgbaton_test_other")
