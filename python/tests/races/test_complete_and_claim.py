"""complete_and_claim beside other sessions, and what it costs beside the two calls that it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cost import measure
from sessions import Clock, Session, Waiting

Open = Callable[[], Session]
Sound = Callable[[], None]
Rows = list[tuple[str, int, int]]


def next_batch(
    session: Session, jobs: dict[int, int], size: int = 10, queue: str = "q"
) -> dict[int, int]:
    """Completes what a claim returned; returns the next claim."""
    rows: Rows = start(session, jobs, size, queue).rows()  # type: ignore[assignment]
    assert {verdict for verdict, *_ in rows} <= {"claimed"}, rows
    return {job: token for _, job, token in rows}


def start(session: Session, jobs: dict[int, int], size: int = 10, queue: str = "q") -> Waiting:
    return session.start(
        "select verdict, id, lease_token from pgbaton.complete_and_claim("
        "%s::bigint[], %s, %s, array[%s], batch_size => %s)",
        list(jobs),
        next(iter(jobs.values()), None),
        f"worker {session.pid}",
        queue,
        size,
    )


def test_two_workers_work_off_a_queue(db: Session, open_session: Open, sound: Sound) -> None:
    """In turns, each with its transaction open while the other one calls."""
    db.rows("select pgbaton.create_queue('q')")
    jobs = db.enqueue_batch("q", 100)
    workers = [open_session(), open_session()]
    held: list[dict[int, int]] = [{}, {}]
    ran: list[int] = []
    while True:
        for place, worker in enumerate(workers):
            worker.never_waits()
            worker.begin()
            held[place] = next_batch(worker, held[place], 7)
            ran += held[place]
        for worker in workers:
            worker.commit()
        sound()
        if not any(held):
            break
    assert sorted(ran) == jobs


def test_the_next_of_a_key_is_for_who_ended_the_last_until_it_commits(
    db: Session, open_session: Open, sound: Sound
) -> None:
    """Nobody else sees the key pass on before, and nobody waits for it."""
    db.rows("select pgbaton.create_fifo_queue('q')")
    first, second, third = db.enqueue_batch("q", 3, ["k"] * 3)
    one, other = open_session(), open_session()
    other.never_waits()
    held = one.claim("q")
    assert list(held) == [first]
    one.begin()
    held = next_batch(one, held)
    assert list(held) == [second]
    assert other.claim("q") == {}
    one.rollback()
    sound()
    assert other.claim("q") == {}, "what was rolled back is not completed"
    state = "select (pgbaton.get_job(%s)).state::text"
    assert [db.one(state, job) for job in (first, second, third)] == [
        "active",
        "waiting",
        "waiting",
    ]


def test_an_operator_who_has_the_job_is_waited_for_and_wins(
    db: Session, open_session: Open, sound: Sound
) -> None:
    """Taken away meanwhile: a verdict for it, and the claim goes on."""
    db.rows("select pgbaton.create_queue('q')")
    first, second = db.enqueue_batch("q", 2)
    worker, operator = open_session(), open_session()
    held = worker.claim("q", 1)
    operator.begin()
    operator.rows("select pgbaton.mark_worker_unresponsive(%s)", f"worker {worker.pid}")
    call = start(worker, held, 1).until_blocked(operator)
    operator.commit()
    refused, claimed = call.rows()
    assert refused[:2] == ("lease_lost", first)
    assert (claimed[0], claimed[1] in (first, second)) == ("claimed", True)
    sound()


def test_the_same_job_completed_by_two_calls_at_once(
    db: Session, open_session: Open, sound: Sound
) -> None:
    """A call whose answer was lost, made again while the first one is still under way."""
    db.rows("select pgbaton.create_fifo_queue('q')")
    first, second, third = db.enqueue_batch("q", 3, ["k"] * 3)
    worker, again = open_session(), open_session()
    held = worker.claim("q")
    worker.begin()
    assert list(next_batch(worker, held)) == [second]
    call = start(again, held).until_blocked(worker)
    worker.commit()
    assert [row[:2] for row in call.rows()] == [("invalid_state", first)], "and the key has one job"
    sound()
    assert db.one("select (pgbaton.get_job(%s)).state::text", third) == "waiting"


@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_a_producer_that_is_open_is_not_waited_for(
    db: Session, open_session: Open, sound: Sound, ends: str
) -> None:
    db.rows("select pgbaton.create_fifo_queue('q')")
    db.enqueue("q", "k")
    worker, producer = open_session(), open_session()
    held = worker.claim("q")
    producer.begin()
    late = producer.enqueue("q", "k")
    worker.never_waits()
    assert next_batch(worker, held) == {}
    producer.end(ends)
    sound()
    assert list(next_batch(worker, {})) == ([late] if ends == "commit" else [])


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
@pytest.mark.parametrize("change", ["pause the queue", "pause the key", "complete it"])
def test_an_older_snapshot_is_done_right_or_refused_as_a_whole(
    db: Session, open_session: Open, sound: Sound, isolation: str, change: str
) -> None:
    """A 40001 of the claim is not caught: the completion goes with it."""
    db.rows("select pgbaton.create_fifo_queue('q')")
    first, second = db.enqueue_batch("q", 2, ["k", "k"])
    worker = open_session()
    held = worker.claim("q")
    worker.begin_with_snapshot(isolation)
    if change == "pause the queue":
        db.rows("select pgbaton.pause_queue('q')")
    elif change == "pause the key":
        db.rows("select pgbaton.pause_key('q', 'k')")
    else:
        assert db.complete(held) == ["ok"]
    refusal = start(worker, held).refusal()
    worker.rollback() if refusal else worker.commit()
    assert refusal in (None, "40001")
    if change == "pause the queue":
        assert refusal == "40001"
        assert db.one("select (pgbaton.get_job(%s)).state::text", first) == "active"
    if change == "complete it":
        assert refusal == "40001"
    sound()
    active = "select count(*) from pgbaton.live_jobs where singleton_key = 'k' and state = 'active'"
    assert db.one(active) <= 1
    assert second


@pytest.mark.parametrize("size", [1, 10, 100])
@pytest.mark.parametrize("policy", ["standard", "fifo"])
def test_one_call_reads_no_more_than_the_two(
    db: Session, clock: Clock, policy: str, size: int
) -> None:
    """Blocks and rows, in one of three pairs of batches: others may have a plan made anew."""
    db.rows("select pgbaton.create_queue('q', %s::text::pgbaton.queue_policy)", policy)
    keys = [f"k{n}" for n in range(20 * size)] if policy == "fifo" else None
    db.enqueue_batch("q", 20 * size, keys)
    one = "select * from pgbaton.complete_and_claim(%s::bigint[], %s, 'w', '{q}', batch_size => %s)"
    done = "select * from pgbaton.complete_jobs(%s::bigint[], %s)"
    claim = "select * from pgbaton.claim_job_batch('w', '{q}', batch_size => %s)"
    mine = "select lo, lease_token from pgbaton.span where state = 'active'"
    costs: dict[str, list[tuple[int, int]]] = {"one": [], "two": []}
    for way in ("one", "two") * 4:
        db.stop_autovacuum()
        held = db.claim("q", size)
        token = next(iter(held.values()))
        db.begin()
        if way == "one":
            found = [measure(db, one, list(held), token, size)]
        else:
            found = [measure(db, done, list(held), token), measure(db, claim, size)]
        costs[way].append(
            (sum(c.buffers for c in found), sum(sum(c.reads.values()) for c in found))
        )
        db.commit()
        for job, left in db.rows(mine):
            db.rows("select pgbaton.complete_claim(%s)", left)
            assert job
    pairs = list(zip(costs["one"], costs["two"], strict=True))[1:]
    # It looks at two sequences of its own; the batches of a pair are others, which lie in a page
    # or two more or fewer. And it passes the entries of the jobs that it has just ended, once.
    assert any(one[0] <= two[0] * 1.01 + 4 and one[1] <= two[1] + size + 2 for one, two in pairs), (
        pairs
    )


def test_a_worker_that_makes_no_other_call_leaves_the_notes_of_claims(
    db: Session, clock: Clock
) -> None:
    """They need a transaction that has not written yet, and its completions come first."""
    db.rows("select pgbaton.create_queue('q')")
    db.enqueue_batch("q", 100)
    held = next_batch(db, {})
    for _ in range(3):
        clock.advance("5 seconds")
        db.enqueue("q")  # draws a position that is worth a note
        held = next_batch(db, held)
        assert held
        noted = db.rows(
            "select kind::text from pgbaton.watermark where recorded_at = pgbaton._now()"
            " and below_xid < '18446744073709551615' and kind in ('horizon', 'due', 'lease')"
        )
        assert {kind for (kind,) in noted} == {"horizon", "due", "lease"}
