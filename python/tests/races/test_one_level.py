"""Everything goes on where all transactions have one isolation level, the upkeep included.

As with default_transaction_isolation set for a whole database: nobody comes by with another one.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from sessions import Clock, Session

Open = Callable[[], Session]
Sound = Callable[[], None]
LEVELS = ("read committed", "repeatable read", "serializable")


@pytest.fixture(params=LEVELS)
def at(db: Session, open_session: Open, request: pytest.FixtureRequest) -> Callable[[], Session]:
    """Opens sessions of the level, those of the database among them."""

    def opened() -> Session:
        session = open_session()
        session.rows(f"set default_transaction_isolation = '{request.param}'")
        return session

    db.rows(f"set default_transaction_isolation = '{request.param}'")
    return opened


def work(worker: Session, queue: str = "q", size: int = 10) -> list[int]:
    """Claims and completes until nothing is claimable; the jobs in the order of the claims."""
    ran: list[int] = []
    while claimed := worker.claim(queue, size):
        assert set(worker.complete(claimed)) == {"ok"}
        ran += claimed
    return ran


@pytest.mark.parametrize("on_failed", ["wait", "run", "cancel"])
@pytest.mark.parametrize("parents", [1, 16, 17, 300])
def test_a_job_that_waits_for_others(
    db: Session, at: Open, sound: Sound, parents: int, on_failed: str
) -> None:
    db.rows("select pgbaton.create_queue('q', max_attempts => 1)")
    before = db.enqueue_batch("q", parents)
    child = db.enqueue("q", after=before, on_failed=on_failed)
    worker = at()
    assert sorted(work(worker, size=100)) == [*before, child]
    sound()


@pytest.mark.parametrize(
    ("on_failed", "state"), [("wait", "pending"), ("run", "completed"), ("cancel", "unscheduled")]
)
def test_a_job_that_waits_for_one_that_fails(
    db: Session, at: Open, sound: Sound, on_failed: str, state: str
) -> None:
    db.rows("select pgbaton.create_queue('q', max_attempts => 1)")
    parent = db.enqueue("q")
    child = db.enqueue("q", after=[parent], on_failed=on_failed)
    worker = at()
    [(job, token)] = worker.claim("q").items()
    worker.rows("select pgbaton.fail_job(%s, 'no', %s)", job, token)
    work(worker)
    assert db.one("select (pgbaton.get_job(%s)).state::text", child) == state
    if state == "pending":
        db.rows("select pgbaton.retry_job('q', %s)", parent)
        assert work(worker) == [parent, child]
    sound()


def test_jobs_of_one_call_that_wait_for_each_other(db: Session, at: Open, sound: Sound) -> None:
    db.rows("select pgbaton.create_queue('q')")
    jobs = [{"payload": 0}, {"payload": 1, "after_ordinals": [1]}, {"after_ordinals": [1, 2]}]
    query = "select job_id from pgbaton.enqueue_jobs('q', %s) order by ordinal"
    made = [job for (job,) in db.rows(query, json.dumps(jobs))]
    assert work(at()) == made
    sound()


@pytest.mark.parametrize("parents", [17, 40])
def test_groups_that_are_settled_side_by_side(
    db: Session, at: Open, sound: Sound, parents: int
) -> None:
    """The last of two that look at the same time lets the child go, or the next one does."""
    db.rows("select pgbaton.create_fifo_queue('q')")
    before = db.enqueue_batch("q", parents, [f"k{n}" for n in range(parents)])
    child = db.enqueue("q", "child", after=before)
    held = db.claim("q", parents)
    workers = [at(), at()]
    # One half is known to have ended when both look, the other one ends between their snapshots.
    db.complete({job: held[job] for job in before[: parents // 2]})
    workers[0].begin_with_snapshot(db.one("show default_transaction_isolation"))
    db.complete({job: held[job] for job in before[parents // 2 :]})
    workers[1].begin_with_snapshot(db.one("show default_transaction_isolation"))
    claim = "select count(*) from pgbaton.claim_job_batch('w', '{q}')"
    got = {worker: worker.start(claim).until_settled() for worker in workers}
    for worker, claimed in got.items():
        refused = claimed.refusal()
        assert refused in (None, "40001")
        worker.rollback()
    assert work(at()) == [child]
    sound()


@pytest.mark.parametrize("policy", ["fifo", "singleton", "stately"])
def test_a_key_that_is_paused_and_resumed(db: Session, at: Open, sound: Sound, policy: str) -> None:
    db.rows("select pgbaton.create_queue('q', %s::pgbaton.queue_policy)", policy)
    job = db.enqueue("q", "k")
    worker = at()
    db.rows("select pgbaton.pause_key('q', 'k')")
    assert worker.claim("q") == {}
    db.rows("select pgbaton.resume_key('q', 'k')")
    assert work(worker) == [job]
    sound()


def test_a_queue_that_is_to_go_on(db: Session, at: Open, sound: Sound) -> None:
    db.rows("select pgbaton.create_fifo_queue('q', max_attempts => 1)")
    first, second = db.enqueue_batch("q", 2, ["k", "k"])
    worker = at()
    [(job, token)] = worker.claim("q").items()
    worker.rows("select pgbaton.fail_job(%s, 'no', %s)", job, token)
    assert worker.claim("q") == {}
    db.rows("select pgbaton.update_queue('q', on_exhausted => 'continue')")
    assert work(worker) == [second]
    assert db.one("select (pgbaton.get_job(%s)).state::text", first) == "failed"
    sound()


@pytest.mark.parametrize("key_limit", [1, 2, 5])
def test_keys_of_which_several_may_run(db: Session, at: Open, sound: Sound, key_limit: int) -> None:
    db.rows("select pgbaton.create_queue('q', 'singleton')")
    db.rows("select pgbaton.set_queue_limits('q', key_limit => %s)", key_limit)
    jobs = db.enqueue_batch("q", 20, ["k", "l"] * 10)
    one, other = at(), at()
    ran: list[int] = []
    while held := [one.claim("q", 3), other.claim("q", 3)]:
        if not any(held):
            break
        for worker, claimed in zip((one, other), held, strict=True):
            if claimed:
                assert set(worker.complete(claimed)) == {"ok"}
            ran += claimed
    assert sorted(ran) == jobs
    sound()


def test_a_retry_and_an_ended_lease(db: Session, at: Open, sound: Sound, clock: Clock) -> None:
    db.rows("select pgbaton.create_fifo_queue('q', lease => '5 s', retry_delay => '1 s')")
    first, second = db.enqueue_batch("q", 2, ["k", "l"])
    worker = at()
    held = worker.claim("q")
    worker.rows("select pgbaton.fail_job(%s, 'no', %s)", first, held[first])
    clock.advance("10 s")
    assert sorted(work(worker)) == [first, second]
    sound()


# Resume beside those who cannot see it ------------------------------------------------------------


@pytest.mark.parametrize("resuming", LEVELS)
@pytest.mark.parametrize("claiming", LEVELS)
@pytest.mark.parametrize("policy", ["fifo", "singleton"])
def test_a_claim_sets_a_job_aside_while_its_key_is_resumed(
    db: Session, open_session: Open, sound: Sound, policy: str, claiming: str, resuming: str
) -> None:
    """The one before it ends in between: when the key was resumed it was not its turn."""
    db.rows("select pgbaton.create_queue('q', %s::pgbaton.queue_policy)", policy)
    first, second = (db.enqueue("q", "k") for _ in range(2))
    held = db.claim("q")
    assert list(held) == [first]
    db.rows("select pgbaton.pause_key('q', 'k')")
    operator, worker = open_session(), open_session()
    worker.never_waits()
    operator.begin_with_snapshot(resuming)
    operator.rows("select pgbaton.resume_key('q', 'k')")
    db.complete(held)
    worker.rows(f"set default_transaction_isolation = '{claiming}'")
    assert worker.claim("q") == {}
    if operator.refusal("commit") == "40001":  # both serializable
        db.rows("select pgbaton.resume_key('q', 'k')")
    assert list(worker.claim("q")) == [second]
    sound()


@pytest.mark.parametrize("claiming", LEVELS)
def test_a_claim_that_saw_the_key_paused_is_open_while_it_is_resumed(
    db: Session, open_session: Open, sound: Sound, claiming: str
) -> None:
    db.rows("select pgbaton.create_fifo_queue('q')")
    job = db.enqueue("q", "k")
    db.rows("select pgbaton.pause_key('q', 'k')")
    worker, operator = open_session(), open_session()
    worker.begin(claiming)
    assert worker.claim("q") == {}
    resumed = operator.start("select pgbaton.resume_key('q', 'k')").until_blocked(worker)
    worker.commit()
    resumed.rows()
    assert list(db.claim("q")) == [job]
    sound()


@pytest.mark.parametrize("level", LEVELS)
def test_a_producer_of_several_calls_beside_a_queue_that_is_to_go_on(
    db: Session, open_session: Open, sound: Sound, level: str
) -> None:
    """Neither waits for the other, in whatever order they lock."""
    db.rows("select pgbaton.create_fifo_queue('q', max_attempts => 1)")
    blocking, _ = db.enqueue_batch("q", 2, ["k", "k"])
    [(_, token)] = db.claim("q").items()
    db.rows("select pgbaton.fail_job(%s, 'no', %s)", blocking, token)
    producer, operator = open_session(), open_session()
    producer.begin(level)
    producer.enqueue("q", "a")
    operator.rows(f"set default_transaction_isolation = '{level}'")
    change = operator.start("select pgbaton.update_queue('q', on_exhausted => 'continue')")
    change.until_settled()
    producer.never_waits()
    producer.enqueue("q", "b")
    producer.commit()
    refused = change.refusal()
    if level == "serializable" and refused == "40001":
        refused = operator.refusal("select pgbaton.update_queue('q', on_exhausted => 'continue')")
    assert refused is None
    assert len(work(db)) == 3
    sound()
