"""Calls in REPEATABLE READ and SERIALIZABLE while others commit: done right, or a clean 40001."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from invariants import empty
from sessions import Session

Open = Callable[[], Session]
Sound = Callable[[], None]


class Scene:
    """Two keys of three jobs each and ten jobs without a key; the first of each is claimed."""

    def __init__(self, db: Session, policy: str) -> None:
        self.db = db
        self.policy = policy
        if policy == "standard":
            db.rows("select pgbaton.create_queue('q', max_attempts => 1)")
        else:
            db.rows(
                "select pgbaton.create_fifo_queue('q', max_attempts => 1,"
                " on_exhausted => %s::text::pgbaton.on_exhausted)",
                policy,
            )
        self.key = None if policy == "standard" else "k"
        keys = None if policy == "standard" else ["k", "other"] * 3
        self.jobs = db.enqueue_batch("q", 6, keys)
        # In a continuing queue the first two have failed already; the next two hold their keys.
        if policy == "continue":
            gone = db.claim("q", 2)
            self.fail(gone)
        self.claimed = db.claim("q", 2)
        self.token = next(iter(self.claimed.values()))
        self.mine, self.other = self.claimed

    def fail(self, claimed: dict[int, int]) -> None:
        for job, token in claimed.items():
            self.db.rows("select pgbaton.fail_job(%s, 'no', %s)", job, token)


CHANGES: dict[str, Callable[[Scene], object]] = {
    "nothing": lambda s: None,
    "enqueue": lambda s: s.db.enqueue("q", s.key),
    "enqueue to a new key": lambda s: s.db.enqueue("q", s.key and "new"),
    "claim": lambda s: s.db.claim("q"),
    "complete it": lambda s: s.db.complete({s.mine: s.token}),
    "complete the other": lambda s: s.db.complete({s.other: s.token}),
    "complete it and claim the next": lambda s: (
        s.db.complete({s.mine: s.token}),
        s.db.claim("q"),
    ),
    "complete it and all that follow": lambda s: (s.db.complete({s.mine: s.token}), drain(s.db)),
    "fail it": lambda s: s.fail({s.mine: s.token}),
    "fail it, then retry": lambda s: (
        s.fail({s.mine: s.token}),
        s.db.rows("select pgbaton.retry_job('q', %s)", s.mine),
    ),
    "retry the first": lambda s: (
        s.policy == "continue" and s.db.rows("select pgbaton.retry_job('q', %s)", s.jobs[0])
    ),
    "release it": lambda s: s.db.rows(
        "select pgbaton.release_jobs(array[%s], %s)", s.mine, s.token
    ),
    "extend the other": lambda s: s.db.rows(
        "select pgbaton.extend_leases(array[%s], %s)", s.other, s.token
    ),
    "delete one that waits": lambda s: s.db.rows("select pgbaton.delete_job('q', %s)", s.jobs[5]),
    "give the worker up": lambda s: s.db.rows(
        "select pgbaton.mark_worker_unresponsive(%s)", f"worker {s.db.pid}"
    ),
    "maintenance": lambda s: s.db.rows("select pgbaton.run_maintenance()"),
}
CALLS: dict[str, Callable[[Scene, Session], object]] = {
    "claim": lambda s, caller: caller.claim("q"),
    "complete": lambda s, caller: caller.complete({s.mine: s.token}),
    "complete and claim": lambda s, caller: caller.rows(
        "select * from pgbaton.complete_and_claim(array[%s], %s, 'other', '{q}')", s.mine, s.token
    ),
    "complete both": lambda s, caller: caller.one("select pgbaton.complete_claim(%s)", s.token),
    "enqueue": lambda s, caller: caller.enqueue("q", s.key),
    "enqueue a batch": lambda s, caller: caller.enqueue_batch("q", 2, s.key and ["k", "fresh"]),
    "fail": lambda s, caller: caller.rows(
        "select * from pgbaton.fail_jobs(array[%s], array['no'], %s)", s.mine, s.token
    ),
    "maintenance": lambda s, caller: caller.rows("select pgbaton.run_maintenance()"),
}


def drain(worker: Session) -> list[int]:
    ran: list[int] = []
    while claimed := worker.claim("q", 1):
        assert worker.complete(claimed) == ["ok"]
        ran += claimed
    return ran


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
@pytest.mark.parametrize("policy", ["standard", "block", "continue"])
@pytest.mark.parametrize("call", CALLS)
def test_a_call_on_an_older_snapshot(
    db: Session, open_session: Open, sound: Sound, call: str, policy: str, isolation: str
) -> None:
    caller = open_session()
    for change, make in CHANGES.items():
        empty(db.conn)
        scene = Scene(db, policy)
        caller.begin_with_snapshot(isolation)
        make(scene)
        refusal = None
        try:
            CALLS[call](scene, caller)
            caller.commit()
        except psycopg.Error as error:
            caller.rollback()
            refusal = error.sqlstate
        try:
            assert refusal in (None, "40001")
            sound()
            finish(scene)
            sound()
        except AssertionError as error:
            raise AssertionError(f"after {change!r} ({refusal}): {error}") from error


def finish(scene: Scene) -> None:
    """Whatever is left can be run, and runs in order."""
    db = scene.db
    for (worker,) in db.rows("select distinct worker_id from pgbaton.span where state = 'active'"):
        db.rows("select pgbaton.mark_worker_unresponsive(%s)", worker)
    failed = db.rows("select id from pgbaton.jobs where state = 'failed' and resolution is null")
    for (job,) in failed:
        db.rows("select pgbaton.retry_job('q', %s)", job)
    keys = dict(
        db.rows(
            "select g.id, s.singleton_key from pgbaton.span as s"
            " cross join lateral generate_series(s.lo, s.hi) as g (id)"
            " order by s.key_position + (g.id - s.lo)"
        )
    )
    ran = drain(db)
    assert db.rows("select id, state from pgbaton.live_jobs") == []
    if scene.policy == "block":
        for key in set(keys.values()):
            assert [j for j in ran if keys[j] == key] == [j for j in keys if keys[j] == key]


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
@pytest.mark.parametrize("policy", ["standard", "block"])
def test_two_claims_and_completions_side_by_side(
    db: Session, open_session: Open, sound: Sound, policy: str, isolation: str
) -> None:
    """Both sessions on older snapshots: nothing is handed out twice."""
    scene = Scene(db, policy)
    db.enqueue_batch("q", 100, scene.key and [f"key {n}" for n in range(100)])
    one, two = open_session(), open_session()
    claimed: list[int] = []
    for _ in range(3):
        for session in (one, two):
            session.begin_with_snapshot(isolation)
        for session in (one, two):
            try:
                got = session.claim("q", 5)
                session.complete(got)
                session.commit()
                claimed += got
            except psycopg.errors.SerializationFailure:
                session.rollback()
        sound()
    assert len(claimed) == len(set(claimed))
    assert len(claimed) >= 15
    finish(scene)
    sound()


def test_keys_run_where_every_transaction_is_repeatable_read(
    db: Session, open_session: Open, sound: Sound
) -> None:
    """As with default_transaction_isolation set for a whole database."""
    db.rows("select pgbaton.create_fifo_queue('q')")
    session = open_session()
    session.rows("set default_transaction_isolation = 'repeatable read'")
    jobs = [session.enqueue("q", "k") for _ in range(3)]
    assert drain(session) == jobs
    sound()


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
@pytest.mark.parametrize("policy", ["fifo", "singleton", "stately"])
@pytest.mark.parametrize("is_busy", [False, True])
def test_a_baton_that_waited_for_its_producer_is_passed_on_by_any_claim(
    db: Session, open_session: Open, sound: Sound, is_busy: bool, policy: str, isolation: str
) -> None:
    """Nobody but workers on such snapshots is there, and nobody does the upkeep."""
    db.rows("select pgbaton.create_queue('q', %s::pgbaton.queue_policy)", policy)
    db.rows("select pgbaton.create_queue('other')")
    db.enqueue("other")
    worker = open_session()
    worker.rows(f"set default_transaction_isolation = '{isolation}'")
    db.enqueue("q", "k")
    held = worker.claim("q")
    busy = worker.claim("other")
    producer = open_session()
    producer.begin()
    job = producer.enqueue("q", "k")
    assert worker.complete(held) == ["ok"]
    assert worker.claim("q") == {}
    producer.commit()
    if is_busy:  # with outcomes of the batch before
        query = "select verdict, id from pgbaton.complete_and_claim(%s, %s, 'w', '{q}')"
        [(done, token)] = busy.items()
        assert worker.rows(query, [done], token) == [("claimed", job)]
    else:
        assert list(worker.claim("q")) == [job]
    sound()


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_calls_that_must_see_all_jobs_of_a_queue(
    db: Session, open_session: Open, level: str
) -> None:
    """They fail before they write, and an unknown queue stays unknown."""
    db.rows("select pgbaton.create_fifo_queue('q')")
    db.rows("select pgbaton.create_queue('limited')")
    db.rows("select pgbaton.set_queue_limits('limited', max_running => 3)")
    calls = [
        "select pgbaton.set_queue_limits('limited', max_running => 1)",
        "select pgbaton.set_fifo_mode('q', false, true)",
        "select pgbaton.set_queue_limits('q', max_running => 1)",
        "select pgbaton.drop_queue('q', true)",
    ]
    for call in calls:
        old = open_session()
        old.begin_with_snapshot(level)
        db.enqueue("q", "k")
        assert old.refusal(call) == "40001", call
        old.rollback()
        old.begin(level)
        assert old.refusal(call) is None, call
        old.rollback()
    old = open_session()
    old.begin_with_snapshot(level)
    assert old.refusal("select pgbaton.enqueue_job('unknown')") == "PB001"
    old.rollback()
