"""Rows F16 to F30 of the list of pitfalls: see docs/guarantees.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import LiteralString

import pytest
from calls import fail, run_all, state
from cost import Cost, measure
from load import wait_until
from sessions import Clock, Session

Open = Callable[[], Session]
RunSpec = Callable[[str], None]
Sound = Callable[[], None]

HOLDERS = "select held_key, lo from pgbaton.span where held_key is not null order by 1"


def test_f16_stale_recovery_gap(run_spec: RunSpec) -> None:
    run_spec("f16")


def claim_cost(db: Session) -> Cost:
    """Of a claim of ten jobs of queue q, which is undone."""
    # What other tests left behind: planning reads it, once a session.
    db.rows("vacuum pgbaton.span")
    db.begin()
    cost = measure(db, "select from pgbaton.claim_job_batch('w', array['q'])")
    assert cost.rows == 10
    db.rollback()
    return cost


def test_f17_hot_blocked_key_hides_others(fifo: Session) -> None:
    others = [f"other {n}" for n in range(10)]
    fifo.enqueue_batch("q", 100, ["hot"] * 100)
    assert fail(fifo, fifo.claim("q"), retryable=False) == "failed"
    fifo.enqueue_batch("q", 10, others)
    small = claim_cost(fifo)
    fifo.rows("select pgbaton.delete_job('q', lo) from pgbaton.span where singleton_key <> 'hot'")
    fifo.enqueue_batch("q", 20_000, ["hot"] * 20_000)
    fifo.enqueue_batch("q", 10, others)
    large = claim_cost(fifo)
    assert large.buffers < 2 * small.buffers  # an index grows by a level
    assert max(large.reads.values()) < 100


def test_f18_whole_queue_group_by(fifo: Session) -> None:
    fifo.enqueue_batch("q", 200, [f"key {n % 100}" for n in range(200)])
    small = claim_cost(fifo)
    fifo.enqueue_batch("q", 10_000, [f"key {n % 5_000}" for n in range(10_000)])
    large = claim_cost(fifo)
    assert large.buffers < 2 * small.buffers
    assert max(large.reads.values()) < 100
    assert "span" not in large.scanned_whole


def test_f19_locks_on_all_groups(fifo: Session, open_session: Open) -> None:
    keys = [f"key {n}" for n in range(500)]
    fifo.enqueue_batch("q", 500, keys)
    worker, other, producer = open_session(), open_session(), open_session()
    worker.begin()
    assert len(worker.claim("q", 1)) == 1
    held = "select count(*) from pg_locks where locktype = 'advisory' and pid = %s"
    assert fifo.one(held, worker.pid) == 0
    producer.never_waits()
    assert len(producer.enqueue_batch("q", 500, keys)) == 500
    other.never_waits()
    assert len(other.claim("q", 1000)) == 499
    worker.rollback()


def test_f20_prefetch_breaks_serial(fifo: Session, open_session: Open, sound: Sound) -> None:
    """A worker that claims on while its buffer is full never gets a second job of a key."""
    jobs = fifo.enqueue_batch("q", 40, ["a", "b", "c", "d"] * 10)
    workers = [open_session(), open_session()]
    buffers: list[dict[int, int]] = []
    for _ in range(3):
        buffers += [worker.claim("q", 3) for worker in workers]
    assert sorted(job for buffer in buffers for job in buffer) == jobs[:4]
    assert workers[1].complete(buffers[1]) == ["ok"]  # d, the fourth
    assert list(workers[0].claim("q", 3)) == [jobs[7]]
    sound()


def test_f21_lost_promotion(run_spec: RunSpec) -> None:
    run_spec("f21")


def test_f21_maintenance_heals_a_key_that_nobody_holds(fifo: Session, sound: Sound) -> None:
    """Should a promotion ever be lost all the same."""
    jobs = [fifo.enqueue("q", "k") for _ in range(3)]
    fifo.rows("delete from pgbaton.span where lo = %s", jobs[0])
    fifo.rows("delete from pgbaton.job where id = %s", jobs[0])
    assert fifo.claim("q") == {}
    assert fifo.one("select (pgbaton.run_maintenance() ->> 'keys_healed')::integer") == 1
    assert run_all(fifo) == jobs[1:]
    sound()


def test_f22_over_release(run_spec: RunSpec) -> None:
    run_spec("f22")


def test_f22_one_call_lets_go_once(fifo: Session, sound: Sound) -> None:
    first, second, third = (fifo.enqueue("q", "k") for _ in range(3))
    claimed = fifo.claim("q")
    verdicts = fifo.rows(
        "select verdict from pgbaton.complete_jobs(%s, %s) order by ordinal",
        [first, first, second, third],
        claimed[first],
    )
    assert [row[0] == "ok" for row in verdicts] == [True, False, False, False]
    assert fifo.rows(HOLDERS) == [("k", second)]
    sound()


def test_f22_two_releases_of_one_key(fifo: Session, open_session: Open, sound: Sound) -> None:
    """Two claims at once each work off one of them; the baton is passed on once."""
    fifo.enqueue("q", "k")
    claimed = fifo.claim("q")
    producer, one, two = open_session(), open_session(), open_session()
    producer.begin()
    jobs = [producer.enqueue("q", "k"), producer.enqueue("q", "k")]
    assert fifo.complete(claimed) == ["ok"]
    fifo.rows("select pgbaton.reset_fifo_key('q', 'k', 'a second release')")
    assert fifo.one("select count(*) from pgbaton.baton_release") == 2
    producer.commit()
    fifo.begin()
    fifo.rows("select from pgbaton.baton_release order by id limit 1 for update")
    assert list(one.claim("q")) == jobs[:1]
    fifo.rollback()
    assert two.claim("q") == {}
    sound()


def test_f23_default_group(db: Session, open_session: Open) -> None:
    db.rows("select pgbaton.create_queue('plain')")
    jobs = [db.enqueue("plain") for _ in range(3)]
    worker = open_session()
    worker.begin()
    assert list(worker.claim("plain", 1)) == jobs[:1]
    assert fail(db, db.claim("plain", 1), retryable=False) == "failed"
    assert list(db.claim("plain", 1)) == jobs[2:]
    worker.rollback()
    # Where order is promised a job without a key is an error, not a member of some common key.
    db.rows("select pgbaton.create_fifo_queue('q')")
    assert db.refusal("select pgbaton.enqueue_job('q')") == "PB005"
    assert db.refusal("select pgbaton.enqueue_batch('q', '{1,2}', '{a,null}')") == "PB005"
    assert db.refusal("""select pgbaton.enqueue_jobs('q', '[{"payload": 1}]')""") == "PB005"


@contextmanager
def stripes(db: Session, body: str) -> Iterator[None]:
    """Another way to spread keys over stripes."""
    original = db.one("select pg_get_functiondef('pgbaton._stripe'::regproc)")
    db.conn.execute(
        "create or replace function pgbaton._stripe(queue_id integer, singleton_key text)"
        f" returns integer language sql immutable as $$ select {body} $$"
    )
    yield
    db.conn.execute(original)


def test_f24_hash_collision(fifo: Session, open_session: Open, sound: Sound) -> None:
    """Two keys of one stripe: their producers may wait for each other, their jobs never do."""
    with stripes(fifo, "$1 * 256"):
        jobs = [fifo.enqueue("q", key) for key in ("a", "b", "a", "b")]
        producer = open_session()
        producer.begin()
        producer.enqueue("q", "a")
        fifo.never_waits()
        claimed = fifo.claim("q")
        assert list(claimed) == jobs[:2]
        assert fifo.complete({jobs[1]: claimed[jobs[1]]}) == ["ok"]
        assert list(fifo.claim("q")) == jobs[3:]
        producer.rollback()
        assert fail(fifo, {jobs[0]: claimed[jobs[0]]}, retryable=False) == "failed"
        assert fifo.claim("q") == {}
        assert fifo.rows("select get_blocked_keys from pgbaton.get_blocked_keys('q')") == [("a",)]
        sound()


def test_f24_another_number_of_stripes(fifo: Session, sound: Sound) -> None:
    keys = ["a", "b", "c"] * 2
    jobs = fifo.enqueue_batch("q", 6, keys)
    claimed = fifo.claim("q", 2)
    for body in ("$1 * 256 + length($2) % 2", "$1 * 256 + abs(hashtext($2)) % 7"):
        with stripes(fifo, body):
            jobs += fifo.enqueue_batch("q", 6, keys)
            assert fifo.complete(claimed) == ["ok"] * len(claimed)
            claimed = fifo.claim("q", 3)
            sound()
    assert fifo.complete(claimed) == ["ok"] * 3
    run_all(fifo)
    for key in range(3):
        of_key = fifo.rows(
            "select id from pgbaton.finished_jobs where singleton_key = %s order by claimed_at",
            keys[key],
        )
        assert [row[0] for row in of_key] == jobs[key::3]


def test_f25_counter_gap(fifo: Session, sound: Sound) -> None:
    jobs = [fifo.enqueue("q", "k") for _ in range(3)]
    fifo.begin()
    fifo.enqueue("q", "k")
    fifo.rollback()
    jobs += [fifo.enqueue("q", "k") for _ in range(3)]
    gone = [jobs[1], jobs[4], jobs[0]]
    for job in gone:
        fifo.rows("select pgbaton.delete_job('q', %s)", job)
    assert run_all(fifo) == [job for job in jobs if job not in gone]
    sound()


def test_f26_key_lost_on_copy(fifo: Session, clock: Clock, sound: Sound) -> None:
    """Retry, dead letter, requeue, history, and a day that is rewritten around its survivors."""
    fifo.rows("select pgbaton.update_queue('q', max_attempts => 3, retention => '0')")
    jobs = fifo.enqueue_batch("q", 30, [f"key {n}" for n in range(28)] + ["k", "k"])
    *others, first, second = jobs
    claimed = fifo.claim("q", 30)
    failing = {first: claimed.pop(first)}
    assert fifo.complete(claimed) == ["ok"] * 28

    def key(job: int) -> str:
        return fifo.one("select singleton_key from pgbaton.jobs where id = %s", job)

    def place() -> int:
        return fifo.one("select key_position from pgbaton.span where lo = %s", first)

    was = place()
    assert fail(fifo, failing) == "retry"
    assert (key(first), place()) == ("k", was)
    clock.advance("11 seconds")
    assert list(fifo.claim("q", lease="1 minute")) == [first]
    clock.advance("61 seconds")
    assert fifo.one("select pgbaton.recover_stale_jobs()") == 1
    assert (key(first), place()) == ("k", was)
    assert fail(fifo, fifo.claim("q")) == "failed"
    assert (key(first), place()) == ("k", was)
    dead = "select singleton_key from pgbaton.list_dead_jobs('q') where id = %s"
    assert fifo.one(dead, first) == "k"

    day = fifo.one("select distinct day from pgbaton.job")
    clock.advance("3 days")
    # An autovacuum may use the day.
    drop: LiteralString = "select pgbaton._drop_day(%s, pgbaton._now())"
    wait_until(lambda: fifo.one(drop, day), "the day goes")
    assert fifo.rows("select count(*) from pgbaton.job") == [(2,)]
    assert (key(first), key(second), place()) == ("k", "k", was)
    anew = fifo.one("select pgbaton.requeue_dead_job(%s)", first)
    assert run_all(fifo) == [second, anew]
    assert {key(job) for job in (first, second, anew)} == {"k"}
    assert others
    sound()


def test_f27_group_claim_drags_failed_member(db: Session, sound: Sound) -> None:
    db.rows("select pgbaton.create_fifo_queue('q', max_attempts => 1, on_exhausted => 'continue')")
    failed, second, third = (db.enqueue("q", "k") for _ in range(3))
    assert fail(db, db.claim("q")) == "failed"
    claimed = db.claim("q", 100)
    assert list(claimed) == [second]
    assert fail(db, claimed) == "failed"
    assert run_all(db) == [third]
    assert [state(db, job) for job in (failed, second)] == ["failed", "failed"]
    assert db.rows("select distinct attempt from pgbaton.live_jobs") == [(1,)]
    sound()


def test_f28_cross_queue_key(fifo: Session, sound: Sound) -> None:
    """The scope of a key is its queue."""
    fifo.rows("select pgbaton.create_fifo_queue('r')")
    jobs = {queue: [fifo.enqueue(queue, "k") for _ in range(2)] for queue in ("q", "r")}
    claimed = {queue: fifo.claim(queue) for queue in jobs}
    assert [list(jobs) for jobs in claimed.values()] == [jobs["q"][:1], jobs["r"][:1]]
    assert fail(fifo, claimed["q"], retryable=False) == "failed"
    assert fifo.complete(claimed["r"]) == ["ok"]
    assert fifo.claim("q") == {}
    assert list(fifo.claim("r")) == jobs["r"][1:]
    assert fifo.rows("select queue, singleton_key from pgbaton.blocked_keys()") == [("q", "k")]
    sound()


def test_f29_edits(fifo: Session) -> None:
    """Enqueueing a job again changes neither its key nor its priority nor its run_at."""
    enqueue = (
        "select pgbaton.enqueue_job('q', singleton_key => %s, priority => %s, delay => %s,"
        " dedup_id => 'x', on_duplicate => 'skip')"
    )
    first = fifo.enqueue("q", "k")
    second = fifo.one(enqueue, "k", 100, None)
    third = fifo.enqueue("q", "k")
    before = fifo.rows("select * from pgbaton.live_jobs order by id")
    assert fifo.one(enqueue, "other", 999, "1 hour") == second
    assert fifo.rows("select * from pgbaton.live_jobs order by id") == before
    assert run_all(fifo) == [first, second, third]


@pytest.mark.parametrize("role", ["producer", "worker", "operator", "monitor"])
def test_f29_no_role_writes_the_tables(fifo: Session, role: str) -> None:
    fifo.rows(f"set role pgbaton_{role}")
    for change in (
        "update pgbaton.job set singleton_key = 'other'",
        "update pgbaton.span set singleton_key = 'other'",
        "update pgbaton.span set lane_id = 1",
        "update pgbaton.span set run_at = null",
    ):
        assert fifo.refusal(change) == "42501"
    fifo.rows("reset role")


def test_f30_delete_or_skip_of_a_non_head(run_spec: RunSpec) -> None:
    run_spec("f30")


def test_f30_a_job_in_the_middle_is_deleted(fifo: Session, sound: Sound) -> None:
    jobs = [fifo.enqueue("q", "k") for _ in range(4)]
    claimed = fifo.claim("q")
    fifo.rows("select pgbaton.delete_job('q', %s)", jobs[2])
    assert fifo.refusal("select pgbaton.skip_job('q', %s)", jobs[1]) == "PB003"
    assert fifo.rows(HOLDERS) == [("k", jobs[0])]
    assert fifo.complete(claimed) == ["ok"]
    assert run_all(fifo) == [jobs[1], jobs[3]]
    sound()
