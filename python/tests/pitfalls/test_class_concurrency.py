"""Concurrency: no deadlock, nothing handed out twice, nobody stopped by an open transaction."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from calls import run_all
from sessions import Clock, Session

Open = Callable[[], Session]
Sound = Callable[[], None]


@pytest.mark.parametrize("queue", ["fifo", "standard"])
def test_completing_in_opposite_order(
    db: Session, open_session: Open, sound: Sound, queue: str
) -> None:
    """Both name the same forty jobs, and wait at one in the middle until both are under way."""
    db.rows("select pgbaton.create_queue('q', %s::text::pgbaton.queue_policy)", queue)
    jobs = [db.enqueue("q", f"key {n}") for n in range(40)]
    # Two claims, so that there are spans to lock in two orders.
    token = db.claim("q", 40)[jobs[0]]
    gate, first, second = open_session(), open_session(), open_session()
    gate.begin()
    gate.rows("select from pgbaton.span where %s between lo and hi for update", jobs[20])
    calls = [
        session.start(
            "select verdict from pgbaton.complete_jobs(%s, %s)", order, token
        ).until_blocked()
        for session, order in ((first, jobs), (second, jobs[::-1]))
    ]
    gate.rollback()
    assert [call.refusal() for call in calls] == [None, None]
    answers = sorted({row[0] for row in call.rows()} for call in calls)
    assert answers == [{"ok"}, {"invalid_state"}] or answers == [{"invalid_state"}, {"ok"}]
    sound()


def test_enqueuing_in_opposite_order(fifo: Session, open_session: Open, sound: Sound) -> None:
    keys = [f"key {n}" for n in range(100)]
    gate, first, second = open_session(), open_session(), open_session()
    gate.begin()
    gate.enqueue("q", keys[50])
    calls = [
        session.start(
            "select pgbaton.enqueue_batch('q', array_fill('{}'::jsonb, array[100]), %s)", order
        ).until_blocked()
        for session, order in ((first, keys), (second, keys[::-1]))
    ]
    gate.commit()
    assert [call.refusal() for call in calls] == [None, None]
    sound()
    assert len(run_all(fifo)) == 201


def test_one_completes_and_enqueues_while_the_other_does_the_reverse(
    fifo: Session, open_session: Open, sound: Sound
) -> None:
    fifo.enqueue_batch("q", 4, ["a", "b", "a", "b"])
    a, b = ({job: token} for job, token in fifo.claim("q").items())
    first, second = open_session(), open_session()
    first.begin()
    second.begin()
    assert first.complete(a) == ["ok"]
    second.enqueue("q", "c")
    enqueue = first.start("select pgbaton.enqueue_job('q', singleton_key => 'b')").until_settled()
    assert second.complete(b) == ["ok"]
    assert enqueue.refusal() is None
    into_a = second.start("select pgbaton.enqueue_job('q', singleton_key => 'a')").until_settled()
    first.commit()
    assert into_a.refusal() is None
    second.commit()
    sound()
    assert len(run_all(fifo)) == 5


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_claims_on_older_snapshots(
    fifo: Session, open_session: Open, sound: Sound, isolation: str
) -> None:
    jobs = fifo.enqueue_batch("q", 40, [f"key {n % 10}" for n in range(40)])
    sessions = [open_session() for _ in range(2)]
    ran: list[int] = []
    while len(ran) < len(jobs):
        for session in sessions:
            session.begin_with_snapshot(isolation)
        progress = 0
        for session in sessions:
            try:
                claimed = session.claim("q", 3)
                assert session.complete(claimed) == ["ok"] * len(claimed)
                session.commit()
            except psycopg.errors.SerializationFailure:
                session.rollback()
            else:
                ran += claimed
                progress += len(claimed)
        assert progress > 0
        sound()
    assert sorted(ran) == jobs
    for n in range(10):
        assert [job for job in ran if (job - jobs[0]) % 10 == n] == jobs[n::10]


def test_a_claim_that_stays_open_for_a_minute(
    fifo: Session, open_session: Open, clock: Clock, sound: Sound
) -> None:
    jobs = fifo.enqueue_batch("q", 20, [f"key {n % 10}" for n in range(20)])
    opener, worker = open_session(), open_session()
    opener.begin()
    held = opener.claim("q", 3, "30 seconds")
    assert list(held) == jobs[:3]
    worker.never_waits()
    ran: list[int] = []
    for _ in range(6):
        clock.advance("10 seconds")
        ran += run_all(worker)
    assert ran == [*jobs[3:10], *jobs[13:]]
    opener.commit()
    # Its leases ended long before it said that it had them. The upkeep of every ten seconds finds
    # them, others take over, and it is too late.
    clock.advance("11 seconds")
    again = worker.claim("q")
    assert list(again) == jobs[:3]
    assert opener.complete(held) == ["lease_lost"] * 3
    assert worker.complete(again) == ["ok"] * 3
    assert run_all(worker) == jobs[10:13]
    sound()


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_an_enqueue_of_a_hot_key_that_stays_open(
    fifo: Session, open_session: Open, clock: Clock, sound: Sound, end: str
) -> None:
    backlog = [fifo.enqueue("q", "hot") for _ in range(10)]
    producer, waiting, worker = open_session(), open_session(), open_session()
    producer.begin()
    late = producer.enqueue("q", "hot")
    worker.never_waits()
    ran = []
    for _ in range(10):
        clock.advance("10 seconds")
        claimed = worker.claim("q", 1)
        assert worker.complete(claimed) == ["ok"]
        ran += claimed
    assert ran == backlog
    assert worker.enqueue("q", "cold")
    assert len(run_all(worker)) == 1
    # Only who enqueues for the same key waits for the commit: that is what makes it the order.
    last = waiting.start("select pgbaton.enqueue_job('q', singleton_key => 'hot')")
    last.until_blocked(producer)
    producer.end(end)
    assert run_all(fifo) in ([], [late], [late, last.one()], [last.one()])
    run_all(fifo)
    finished = fifo.rows(
        "select id from pgbaton.finished_jobs where singleton_key = 'hot' order by claimed_at, id"
    )
    expected = [*backlog, late] if end == "commit" else backlog
    assert [job for (job,) in finished][: len(expected)] == expected
    assert len(finished) == len(expected) + 1
    sound()
