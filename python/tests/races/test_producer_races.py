"""Producers side by side: the same dedup ids, new lanes, many keys."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from sessions import Session

Open = Callable[[], Session]
Sound = Callable[[], None]


@pytest.fixture(params=["standard", "fifo"])
def queue(request: pytest.FixtureRequest, db: Session) -> str:
    if request.param == "fifo":
        db.rows("select pgbaton.create_fifo_queue('q')")
    else:
        db.rows("select pgbaton.create_queue('q')")
    return request.param


ENQUEUE = (
    "select pgbaton.enqueue_job('q', singleton_key => 'k', dedup_id => 'd', on_duplicate => %s)"
)


@pytest.mark.parametrize("on_duplicate", ["skip", "error"])
@pytest.mark.parametrize("first_end", ["commit", "rollback"])
@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_one_dedup_id_in_two_open_transactions(
    queue: str,
    db: Session,
    open_session: Open,
    sound: Sound,
    on_duplicate: str,
    first_end: str,
    isolation: str,
) -> None:
    first, second = open_session(), open_session()
    first.begin()
    job = first.one(ENQUEUE, "error")
    second.begin_with_snapshot(isolation)
    waiting = second.start(ENQUEUE, on_duplicate).until_blocked(first)
    first.end(first_end)
    refusal = waiting.refusal()
    if first_end == "rollback":
        assert refusal is None
        job = waiting.one()
    elif isolation != "read committed":
        assert refusal == "40001"
    elif on_duplicate == "error":
        assert refusal == "PB006"
    else:
        assert waiting.one() == job
    second.end("commit" if refusal is None else "rollback")
    assert db.rows("select id from pgbaton.jobs") == [(job,)]
    assert db.rows("select job_id from pgbaton.dedup") == [(job,)]
    sound()


def batch(dedup_ids: list[int], key: str = "k") -> str:
    return json.dumps([{"dedup_id": f"d{n}", "singleton_key": f"{key}{n}"} for n in dedup_ids])


@pytest.mark.parametrize("gate_end", ["commit", "rollback"])
def test_two_bulk_producers_with_the_same_dedup_ids_in_opposite_order(
    queue: str, db: Session, open_session: Open, sound: Sound, gate_end: str
) -> None:
    gate, first, second = open_session(), open_session(), open_session()
    gate.begin()
    gate.rows("select * from pgbaton.enqueue_jobs('q', %s)", batch([50]))
    order = list(range(100))
    calls = [
        session.start("select job_id, outcome from pgbaton.enqueue_jobs('q', %s)", batch(ids))
        for session, ids in ((first, order), (second, order[::-1]))
    ]
    for call in calls:
        call.until_blocked()
    gate.end(gate_end)
    answers = [call.rows() for call in calls]
    assert [len(rows) for rows in answers] == [100, 100]
    answers[1].reverse()
    assert [row[0] for row in answers[0]] == [row[0] for row in answers[1]]
    outcomes = [
        {row[1] for n, row in enumerate(rows) if n != 50 or gate_end == "rollback"}
        for rows in answers
    ]
    assert sorted(outcomes, key=str) == [{"duplicate"}, {"enqueued"}]
    assert db.one("select count(*) from pgbaton.jobs") == 100
    sound()


@pytest.mark.parametrize("first_end", ["commit", "rollback"])
def test_two_producers_of_a_new_lane_make_one_each(
    queue: str, db: Session, open_session: Open, sound: Sound, first_end: str
) -> None:
    """A batch takes from both by their places, and later producers use the first."""
    first, second = open_session(), open_session()
    for session in (first, second):
        session.never_waits()
        session.begin()
    placed = [
        session.enqueue("q", f"{name} {n}", job_type="new")
        for n in range(3)
        for name, session in (("a", first), ("d", second))
    ]
    first.end(first_end)
    second.commit()
    late = [session.enqueue("q", f"of {session.pid}", job_type="new") for session in (second, db)]
    sound()
    assert db.one("select count(*) from pgbaton.lane") == (2 if first_end == "commit" else 1)
    expected = [*(placed if first_end == "commit" else placed[1::2]), *late]
    assert list(db.claim("q", 2)) == expected[:2]
    assert list(db.claim("q")) == expected[2:]


def test_lanes_of_the_same_labels_count_as_one(
    queue: str, db: Session, open_session: Open, sound: Sound
) -> None:
    """All that ever overlapped made one each, and nobody makes another one."""
    db.rows("select pgbaton.update_queue('q', max_lanes => 2)")
    sessions = [open_session() for _ in range(4)]
    for n, session in enumerate(sessions):
        session.begin("repeatable read" if n % 2 else "read committed")
        session.rows("select from pgbaton.queue")
    for n, session in enumerate(sessions):
        session.enqueue("q", f"{n}", job_type="new")
        session.commit()
    assert db.one("select count(*) from pgbaton.lane") == 3  # the two of older snapshots, and one
    db.enqueue("q", "z", job_type="second")
    assert db.refusal("select pgbaton.enqueue_job('q', job_type => 'third')") == "PB010"
    sound()


def test_ids_of_producers_side_by_side_make_spans_of_their_own(
    db: Session, open_session: Open, sound: Sound
) -> None:
    """Ids of one session are neighbours, whatever others enqueue between them."""
    db.rows("select pgbaton.create_queue('q')")
    producers = [open_session() for _ in range(3)]
    jobs = [producer.enqueue("q") for _ in range(30) for producer in producers]
    claimed = db.claim("q", 90)
    assert sorted(claimed) == sorted(jobs)
    assert db.one("select count(*) from pgbaton.span") == 3
    assert set(db.complete(claimed)) == {"ok"}
    sound()


def test_an_enqueue_joins_the_transaction_of_its_caller(
    queue: str, db: Session, open_session: Open, sound: Sound
) -> None:
    producer, worker = open_session(), open_session()
    worker.never_waits()
    producer.begin()
    kept = producer.enqueue("q", "a")
    producer.rows("savepoint here")
    producer.enqueue("q", "b")
    producer.enqueue("q", "a")
    producer.rows("rollback to here")
    assert worker.claim("q") == {}
    producer.commit()
    sound()
    assert list(worker.claim("q")) == [kept]


@pytest.mark.parametrize("policy", ["short", "stately", "exclusive"])
@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_an_older_snapshot_that_missed_a_queued_job_is_40001(
    open_session: Open, db: Session, policy: str, isolation: str
) -> None:
    db.rows("select pgbaton.create_queue('q', %s)", policy)
    late = open_session()
    late.begin_with_snapshot(isolation)
    db.enqueue("q", "k")
    assert late.refusal("select pgbaton.enqueue_job('q', singleton_key => 'k')") == "40001"
    late.rollback()
    assert late.refusal("select pgbaton.enqueue_job('q', singleton_key => 'k')") == "PB006"
    assert len(db.claim("q")) == 1


def test_two_begin_the_same_run_anew(open_session: Open, db: Session) -> None:
    """The second one finds that the run is what it wants once the first one has committed."""
    db.rows("select pgbaton.spark_begin('r', 1)")
    first, second = open_session(), open_session()
    first.begin()
    first.rows("select pgbaton.spark_begin('r', 2)")
    waiting = second.start("select pgbaton.spark_begin('r', 2)").until_blocked(first)
    first.commit()
    assert waiting.refusal() is None
    assert db.rows("select parts from pgbaton.enqueue_run") == [(2,)]
