"""Short stories of two or three sessions, each of which a planted fault would end differently."""

from __future__ import annotations

from collections.abc import Callable
from typing import LiteralString

from sessions import Clock, Session

Open = Callable[[], Session]


def an_old_token_is_refused(open_session: Open) -> None:
    db = open_session()
    with Clock(db.conn) as clock:
        db.rows("select pgbaton.create_fifo_queue('q', lease => '1 minute')")
        job = db.enqueue("q", "k")
        old = db.claim("q")[job]
        clock.advance("2 minutes")
        new = db.claim("q")[job]
        assert db.refusal("select pgbaton.complete_job(%s, lease_token => %s)", job, old) == "PB004"
        assert db.refusal("select pgbaton.complete_job(%s, lease_token => %s)", job, new) is None


def an_ended_lease_is_good_for_an_end_only(open_session: Open) -> None:
    db = open_session()
    with Clock(db.conn) as clock:
        db.rows("select pgbaton.create_fifo_queue('q', lease => '1 minute')")
        job = db.enqueue("q", "k")
        token = db.claim("q")[job]
        clock.advance("2 minutes")
        db.rows("select pgbaton.recover_stale_jobs()")
        assert db.refusal("select pgbaton.report_progress(%s, %s, 50)", job, token) == "PB004"
        assert db.refusal("select pgbaton.complete_job(%s, lease_token => %s)", job, token) is None


def an_unsure_producer_promotes_nobody(open_session: Open) -> None:
    db, producer = open_session(), open_session()
    db.rows("select pgbaton.create_fifo_queue('q')")
    db.enqueue("q", "k")
    producer.begin_with_snapshot("repeatable read")
    producer.enqueue("q", "k")
    producer.commit()
    assert len(db.claim("q")) == 1
    assert db.claim("q") == {}


def a_locked_head_is_not_passed(open_session: Open) -> None:
    db, other = open_session(), open_session()
    db.rows("select pgbaton.create_fifo_queue('q')")
    jobs = [db.enqueue("q", "k") for _ in range(3)]
    running = db.claim("q")
    other.begin()
    other.rows("select pgbaton.cancel_jobs(job_ids => %s)", [jobs[1]])
    assert db.complete(running) == ["ok"]
    assert db.claim("q") == {}
    other.rollback()
    assert list(db.claim("q")) == [jobs[1]]


def order_is_that_of_commits(open_session: Open) -> None:
    db, one, two = open_session(), open_session(), open_session()
    db.rows("select pgbaton.create_fifo_queue('q')")
    one.begin()
    first = one.enqueue("q", "k")
    waiting = two.start("select pgbaton.enqueue_job('q', singleton_key => 'k')").until_settled()
    is_committed_first = waiting.future.done()
    one.commit()
    second = waiting.one()
    expected = [second, first] if is_committed_first else [first, second]
    for job in expected:
        claimed = db.claim("q")
        assert list(claimed) == [job]
        db.complete(claimed)


def a_job_committed_late_runs(open_session: Open) -> None:
    db, producer = open_session(), open_session()
    db.rows("select pgbaton.create_fifo_queue('q')")
    db.enqueue("q", "k")
    running = db.claim("q")
    producer.begin()
    late = producer.enqueue("q", "k")
    db.never_waits()
    assert db.complete(running) == ["ok"]
    assert db.claim("q") == {}
    producer.commit()
    assert list(db.claim("q")) == [late]


def a_job_being_cancelled_holds_its_key(open_session: Open) -> None:
    db = open_session()
    db.rows("select pgbaton.create_fifo_queue('q')")
    job, following = db.enqueue("q", "k"), db.enqueue("q", "k")
    token = db.claim("q")[job]
    db.rows("select pgbaton.cancel_jobs(job_ids => %s)", [job])
    assert db.claim("q") == {}
    db.rows("select pgbaton.acknowledge_cancellation(%s, true, %s)", job, token)
    assert list(db.claim("q")) == [following]


def an_enqueue_is_repeated(open_session: Open) -> None:
    db = open_session()
    db.rows("select pgbaton.create_fifo_queue('q')")
    first = db.enqueue("q", "k", dedup_id="d")
    assert db.refusal("select pgbaton.enqueue_job('q', singleton_key => 'k', dedup_id => 'd')") == (
        "PB006"
    )
    assert db.enqueue("q", "k", dedup_id="d", on_duplicate="skip") == first


REPLACE: LiteralString = (
    "select pgbaton.enqueue_job('q', singleton_key => 'k', dedup_id => 'd',"
    " on_duplicate => 'replace')"
)


def a_replaced_job_leaves_its_place(open_session: Open) -> None:
    db = open_session()
    db.rows("select pgbaton.create_fifo_queue('q')")
    db.enqueue("q", "k", dedup_id="d")
    db.enqueue("q", "k")
    replaced = db.one(REPLACE)
    assert list(db.claim("q")) == [replaced]


def of_an_id_one_job_is_left(open_session: Open) -> None:
    db, gate, one, two = (open_session() for _ in range(4))
    db.rows("select pgbaton.create_queue('q')")
    first = db.one(REPLACE)
    gate.begin()
    gate.rows("select from pgbaton.span where lo = %s for update", first)
    calls = [session.start(REPLACE).until_blocked() for session in (one, two)]
    gate.rollback()
    jobs = {call.one() for call in calls}
    claimed = db.claim("q")
    assert len(claimed) == 1
    assert claimed.keys() <= jobs


def neighbours_keep_their_attempts(open_session: Open) -> None:
    db = open_session()
    with Clock(db.conn) as clock:
        db.rows("select pgbaton.create_queue('q', lease => '1 minute', max_attempts => 9)")
        first, second = db.enqueue("q"), db.enqueue("q")
        for size in (1, 2, 2):  # the first is always one attempt ahead
            db.claim("q", size)
            clock.advance("2 minutes")
        attempts = "select id, attempt from pgbaton.claim_job_batch('w', '{q}') order by id"
        assert db.rows(attempts) == [(first, 4), (second, 3)]


def a_retried_job_is_next(open_session: Open) -> None:
    db = open_session()
    db.rows("select pgbaton.create_fifo_queue('q', 'continue', max_attempts => 1)")
    failed, running, following = (db.enqueue("q", "k") for _ in range(3))
    token = db.claim("q")[failed]
    db.rows("select pgbaton.fail_job(%s, 'no', %s)", failed, token)
    claimed = db.claim("q")
    assert list(claimed) == [running]
    db.rows("select pgbaton.retry_job('q', %s)", failed)
    db.complete(claimed)
    claimed = db.claim("q")
    assert list(claimed) == [failed]
    db.complete(claimed)
    assert list(db.claim("q")) == [following]


def a_paused_key_is_not_handed_on(open_session: Open) -> None:
    db = open_session()
    db.rows("select pgbaton.create_fifo_queue('q')")
    db.enqueue("q", "k")
    following = db.enqueue("q", "k")
    claimed = db.claim("q")
    db.rows("select pgbaton.pause_key('q', 'k')")
    db.complete(claimed)
    assert db.claim("q") == {}
    db.rows("select pgbaton.resume_key('q', 'k')")
    assert list(db.claim("q")) == [following]


def a_failed_job_holds_its_key(open_session: Open) -> None:
    db = open_session()
    db.rows("select pgbaton.create_fifo_queue('q', max_attempts => 1)")
    failed, following = db.enqueue("q", "k"), db.enqueue("q", "k")
    token = db.claim("q")[failed]
    db.rows("select pgbaton.fail_job(%s, 'no', %s)", failed, token)
    assert db.claim("q") == {}
    db.rows("select pgbaton.skip_job('q', %s)", failed)
    assert list(db.claim("q")) == [following]


def a_job_that_kills_its_worker_fails(open_session: Open) -> None:
    db = open_session()
    with Clock(db.conn) as clock:
        db.rows("select pgbaton.create_fifo_queue('q', max_attempts => 2, lease => '1 minute')")
        job = db.enqueue("q", "k")
        for _ in range(2):
            assert list(db.claim("q")) == [job]
            clock.advance("2 minutes")
        assert db.claim("q") == {}
        assert db.one("select state::text from pgbaton.get_job(%s)", job) == "failed"


def the_watermark_stays_behind_what_is_claimable(open_session: Open) -> None:
    db = open_session()
    db.rows("select pgbaton.create_queue('q')")
    first = db.enqueue("q")
    db.rows(
        "select setval('pgbaton.position_seq', last_value + 64 * 300) from pgbaton.position_seq"
    )
    others = [db.enqueue("q") for _ in range(3)]
    claimed = [job for _ in range(4) for job in db.claim("q", 1)]
    assert claimed == [first, *others]
    assert db.one("select count(*) from pgbaton.watermark where kind = 'lane'") == 1


def a_claim_of_one_is_the_first_in_line(open_session: Open) -> None:
    """By priority, and beside an open claim. The clock stands still: upkeep is done."""
    db, other = open_session(), open_session()
    with Clock(db.conn):
        db.rows("select pgbaton.create_queue('q')")
        assert not db.claim("q", 1)
        assert not other.claim("q", 1)
        jobs = db.enqueue_batch("q", 64)
        other.begin()
        assert list(other.claim("q", 1)) == jobs[:1]
        later = [db.enqueue("q") for _ in range(2)]
        db.never_waits()
        assert list(db.claim("q", 1)) == later[:1]
        other.commit()
        assert list(db.claim("q", 2)) == jobs[1:3]
        urgent = db.one("select pgbaton.enqueue_job('q', priority => 200)")
        assert [list(db.claim("q", 1)) for _ in range(2)] == [[urgent], jobs[3:4]]


def a_child_waits_for_all_of_its_parents(open_session: Open) -> None:
    db = open_session()
    db.rows("select pgbaton.create_queue('q')")
    parents = db.enqueue_batch("q", 40)  # in three groups
    child = db.one("select pgbaton.enqueue_job('q', after => %s::bigint[])", parents)
    left = set(parents)
    while left:
        claimed = db.claim("q", 7)
        assert set(claimed) <= left
        assert db.complete(claimed) == ["ok"] * len(claimed)
        left -= set(claimed)
    assert list(db.claim("q")) == [child]


def a_child_waits_for_the_first_of_its_parents(open_session: Open) -> None:
    db = open_session()
    db.rows("select pgbaton.create_queue('q')")
    parents = db.enqueue_batch("q", 40)
    child = db.one("select pgbaton.enqueue_job('q', after => %s::bigint[])", parents)
    running = db.claim("q", 40)
    for parent in reversed(parents):
        assert db.claim("q") == {}
        assert db.complete({parent: running[parent]}) == ["ok"]
    assert list(db.claim("q")) == [child]


def a_job_between_two_attempts_holds_its_key(open_session: Open) -> None:
    db = open_session()
    with Clock(db.conn) as clock:
        db.rows("select pgbaton.create_fifo_queue('q')")
        first, second = db.enqueue("q", "k"), db.enqueue("q", "k")
        token = db.claim("q")[first]
        db.rows("select pgbaton.fail_job(%s, 'no', %s, retry_in => '1 hour')", first, token)
        assert db.claim("q") == {}
        clock.advance("2 hours")
        claimed = db.claim("q")
        assert list(claimed) == [first]
        db.complete(claimed)
        assert list(db.claim("q")) == [second]


def a_job_is_completed_once(open_session: Open) -> None:
    db = open_session()
    db.rows("select pgbaton.create_queue('q')")
    job = db.enqueue("q")
    assert db.complete(db.claim("q")) == ["ok"]
    again = "select verdict from pgbaton.complete_jobs(array[%s::bigint])"
    assert db.one(again, job) == "invalid_state"


def a_skipped_parent_lets_its_child_run(open_session: Open) -> None:
    db = open_session()
    db.rows("select pgbaton.create_queue('q')")
    parent = db.enqueue("q")
    child = db.one("select pgbaton.enqueue_job('q', after => array[%s::bigint])", parent)
    token = db.claim("q")[parent]
    db.rows("select pgbaton.fail_job(%s, 'no', %s, false)", parent, token)
    assert db.claim("q") == {}
    db.rows("select pgbaton.skip_job('q', %s)", parent)
    assert list(db.claim("q")) == [child]


def a_child_of_a_parent_that_ends_meanwhile_runs(open_session: Open) -> None:
    db, worker, producer = open_session(), open_session(), open_session()
    db.rows("select pgbaton.create_queue('q')")
    for level in ("read committed", "repeatable read"):
        parent = db.enqueue("q")
        claimed = db.claim("q")
        worker.begin_with_snapshot(level)
        producer.begin()
        child = producer.one("select pgbaton.enqueue_job('q', after => array[%s::bigint])", parent)
        if level == "read committed":
            assert worker.complete(claimed) == ["ok"]
        producer.commit()
        assert db.claim("q") == {}
        if level == "repeatable read":
            assert worker.complete(claimed) == ["ok"]
        assert db.claim("q") == {}
        worker.commit()
        claimed = db.claim("q")
        assert list(claimed) == [child]
        assert db.complete(claimed) == ["ok"]


def no_job_too_many_runs(open_session: Open) -> None:
    db, first, second = (open_session() for _ in range(3))
    db.rows("select pgbaton.create_queue('q')")
    db.rows("select pgbaton.set_queue_limits('q', max_running => 2)")
    for _ in range(6):
        db.enqueue("q")
    first.begin()
    second.begin()
    held = first.claim("q", 2)
    assert len(held) == 2
    assert second.claim("q", 2) == {}
    first.commit()
    second.commit()
    first_job = next(iter(held))
    db.complete({first_job: held[first_job]})
    assert [len(db.claim("q", 2)) for _ in range(2)] == [1, 0]


def permits_that_others_have_locked_hide_no_free_one(open_session: Open) -> None:
    db = open_session()
    db.rows("select pgbaton.create_queue('q')")
    db.rows("select pgbaton.set_queue_limits('q', max_running => 5)")
    for _ in range(10):
        db.enqueue("q")
    for _ in range(5):
        other = open_session()
        other.begin()
        assert len(other.claim("q", 1)) == 1
    assert db.claim("q", 1) == {}


def a_rate_counts_starts(open_session: Open) -> None:
    db = open_session()
    with Clock(db.conn) as clock:
        clock.skip_midnight()
        db.rows("select pgbaton.create_queue('q')")
        db.rows("select pgbaton.set_queue_limits('q', rate_count => 2, rate_interval => '10 s')")
        for _ in range(6):
            db.enqueue("q")
        assert len(db.claim("q", 1)) == 1
        clock.advance("9 s")
        assert len(db.claim("q", 2)) == 1
        clock.advance("1 s")
        assert len(db.claim("q", 2)) == 1
        clock.advance("8 s")
        assert db.claim("q", 2) == {}


def a_rate_of_a_key_counts_its_starts(open_session: Open) -> None:
    db = open_session()
    with Clock(db.conn) as clock:
        clock.skip_midnight()
        db.rows("select pgbaton.create_fifo_queue('q')")
        limits = "key_rate_count => 2, key_rate_interval => '10 s'"
        db.rows(f"select pgbaton.set_queue_limits('q', {limits})")
        db.enqueue_batch("q", 10, ["a", "c"] * 5)

        def start(most: int) -> list[int]:
            held = db.claim("q", most)
            db.complete(held)
            return list(held)

        assert len(start(2)) == 2
        clock.advance("9.5 s")
        assert len(start(2)) == 2
        other = db.enqueue("q", "b")
        assert start(1) == [other], "a and c stand in front and are put off"
        assert start(2) == []
        clock.advance("0.5 s")
        assert len(start(2)) == 2
        assert start(2) == []
        db.rows("select pgbaton.set_queue_limits('q')")
        assert len(start(2)) == 2


def of_a_key_no_more_than_its_limit_run(open_session: Open) -> None:
    db = open_session()
    db.rows("select pgbaton.create_queue('q', 'singleton')")
    db.rows("select pgbaton.set_queue_limits('q', key_limit => 2)")
    db.enqueue_batch("q", 6, ["k"] * 6)
    held = [db.claim("q"), db.claim("q"), db.claim("q")]
    assert [len(jobs) for jobs in held] == [1, 1, 0]
    db.complete(held[0])
    assert [len(db.claim("q")) for _ in range(2)] == [1, 0]
    # Of another key nobody waits when one more comes.
    db.enqueue_batch("q", 2, ["full"] * 2)
    assert [len(db.claim("q")) for _ in range(3)] == [1, 1, 0]
    db.enqueue("q", "full")
    assert db.claim("q") == {}


def the_place_of_a_job_that_is_about_to_end_is_not_lost(open_session: Open) -> None:
    db = open_session()
    db.rows("select pgbaton.create_queue('q', 'singleton')")
    db.rows("select pgbaton.set_queue_limits('q', key_limit => 2)")
    for ends_first in (True, False):
        db.enqueue_batch("q", 3, [f"first {ends_first}"] * 3)
        held = db.claim("q")
        ending, starting = open_session(), open_session()
        ending.begin()
        starting.begin()
        if ends_first:
            ending.complete(held)
        started = starting.claim("q")
        assert len(started) == 1
        if not ends_first:
            ending.complete(held)
        for session in (starting, ending):
            session.commit()
        last = db.claim("q")
        assert len(last) == 1
        for jobs in (started, last):
            db.complete(jobs)
