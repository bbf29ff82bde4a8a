"""Rows D01 to D20, jobs that wait for jobs: see docs/guarantees.md."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, LiteralString

import pytest
from calls import run_all, state
from cost import measure
from sessions import Clock, Session

Open = Callable[[], Session]
Sound = Callable[[], None]

WAITS = "select count(*) from pgbaton.job_wait"


@pytest.fixture
def flow(db: Session) -> Session:
    """The session that arranges and looks, with the queues q, of one attempt, and other."""
    db.rows("select pgbaton.create_queue('q', max_attempts => 1)")
    db.rows("select pgbaton.create_queue('other')")
    return db


def after(
    db: Session, *parents: int, queue: str = "q", key: str | None = None, **options: Any
) -> int:
    names = ["singleton_key", *options]
    given = "".join(f", {name} => %s" for name in names)
    call = f"select pgbaton.enqueue_job(%s, after => %s::bigint[]{given})"
    return db.one(call, queue, list(parents), key, *options.values())


def run_one(worker: Session, job: int, queue: str = "q") -> None:
    """Claims and completes one job, which is this one."""
    claimed = worker.claim(queue, 1)
    assert list(claimed) == [job]
    assert worker.complete(claimed) == ["ok"]


def claim_singly(worker: Session, *jobs: int) -> dict[int, int]:
    """Each in a claim of its own, and so in a span of its own."""
    claimed = {job: token for _ in jobs for job, token in worker.claim("q", 1).items()}
    assert list(claimed) == list(jobs)
    return claimed


def fail_one(worker: Session, job: int, queue: str = "q") -> None:
    claimed = worker.claim(queue, 1)
    assert list(claimed) == [job]
    worker.rows("select pgbaton.fail_job(%s, 'no', %s, false)", job, claimed[job])


def settle(worker: Session) -> None:
    """What the claims of any worker do, level by level of a chain."""
    worker.rows("select pgbaton.create_queue('nothing')")
    for _ in range(5):
        assert worker.claim("nothing") == {}
    worker.rows("select pgbaton.drop_queue('nothing')")


def waits_for(db: Session, job: int) -> str:
    return db.one("select pgbaton.why_not_running(%s)", job)


# Fan-in ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("last", ["first commits first", "second commits first"])
def test_d01_two_last_parents_side_by_side(
    flow: Session, open_session: Open, sound: Sound, last: str
) -> None:
    parents = [flow.enqueue("q"), flow.enqueue("q")]
    child = after(flow, *parents)
    claimed = claim_singly(flow, *parents)
    one, two = open_session(), open_session()
    for worker, job in zip((one, two), parents, strict=True):
        worker.begin()
        worker.never_waits()
        assert worker.complete({job: claimed[job]}) == ["ok"]
    assert flow.claim("q") == {}
    for worker in (one, two) if last == "second commits first" else (two, one):
        assert flow.claim("q") == {}
        worker.commit()
    run_one(flow, child)
    assert flow.one(WAITS) == 0
    sound()


def test_d01_a_claim_that_looks_between_the_two(
    flow: Session, open_session: Open, sound: Sound
) -> None:
    """The watched parent ends; the next one is ending, and cannot see that it is watched."""
    parents = [flow.enqueue("q"), flow.enqueue("q")]
    child = after(flow, *parents)
    claimed = claim_singly(flow, *parents)
    one, two, looking = open_session(), open_session(), open_session()
    one.begin()
    assert one.complete({parents[0]: claimed[parents[0]]}) == ["ok"]
    assert two.complete({parents[1]: claimed[parents[1]]}) == ["ok"]  # the watched one
    looking.begin()
    looking.never_waits()
    assert looking.claim("q") == {}  # watches the first from now on
    one.commit()
    looking.commit()
    run_one(flow, child)
    sound()


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_d01_older_snapshots_end_parents(
    flow: Session, open_session: Open, sound: Sound, isolation: str
) -> None:
    """Who began before there was a child does not see it."""
    parent = flow.enqueue("q")
    claimed = flow.claim("q")
    worker = open_session()
    worker.begin_with_snapshot(isolation)
    child = after(flow, parent)
    assert flow.claim("q") == {}
    assert worker.complete(claimed) == ["ok"]
    assert flow.claim("q") == {}
    worker.commit()
    run_one(flow, child)
    sound()


def test_d01_many_groups_that_are_settled_side_by_side(
    flow: Session, open_session: Open, sound: Sound
) -> None:
    """300 parents are 19 groups of edges, in two groups of these, in one."""
    parents = flow.enqueue_batch("q", 300)
    child = after(flow, *parents)
    assert flow.one(WAITS) == 19 + 2 + 1
    workers = [open_session() for _ in range(4)]
    claims = [flow.claim("q", 75) for _ in workers]
    for worker, mine in zip(workers, claims, strict=True):
        worker.begin()
        worker.never_waits()
        assert worker.complete(mine) == ["ok"] * 75
        assert worker.claim("q") == {}
    for worker in workers:
        worker.commit()
    assert state(flow, child) == "pending"
    run_one(flow, child)
    assert flow.one(WAITS) == 0
    sound()


def test_d02_a_child_runs_once(flow: Session, open_session: Open, sound: Sound) -> None:
    parent = flow.enqueue("q")
    child = after(flow, parent)
    claimed = flow.claim("q")
    assert flow.complete(claimed) == ["ok"]
    assert flow.complete(claimed) == ["invalid_state"]
    one, two = open_session(), open_session()
    one.begin()
    got = one.claim("q")
    assert two.claim("q") == {}
    one.commit()
    assert list(got) == [child]
    assert flow.one("select attempt from pgbaton.get_job(%s)", child) == 1
    sound()


def test_d03_a_parent_that_is_handed_out_twice(flow: Session, clock: Clock, sound: Sound) -> None:
    flow.rows("select pgbaton.update_queue('q', max_attempts => 5)")
    parents = [flow.enqueue("q") for _ in range(3)]
    child = after(flow, *parents)
    lost = flow.claim("q", 1)
    clock.advance("1 hour")
    claimed = flow.claim("q")
    assert sorted(claimed) == parents
    assert flow.complete(claimed) == ["ok"] * 3
    assert flow.complete(lost) == ["invalid_state"]
    run_one(flow, child)
    sound()


# Parents that are gone, or are not there --------------------------------------------------------


def test_d04_d05_what_is_waited_for_outlives_its_retention(
    flow: Session, clock: Clock, sound: Sound
) -> None:
    flow.rows("select pgbaton.update_queue('q', retention => '1 second')")
    done = flow.enqueue("q")
    run_one(flow, done)
    slow = flow.enqueue("other")
    child = after(flow, done, slow)
    clock.advance("30 days")
    flow.rows("select pgbaton.run_maintenance()")
    assert state(flow, done) == "completed"
    assert flow.one("select pgbaton.cleanup_expired_jobs('1 second')") == 0
    assert flow.refusal("select pgbaton.delete_jobs(job_ids => array[%s::bigint])", done) == "PB003"
    run_one(flow, slow, "other")
    run_one(flow, child)
    clock.advance("30 days")
    flow.rows("select pgbaton.run_maintenance()")
    assert flow.one("select count(*) from pgbaton.job where id in (%s, %s)", done, child) == 0
    assert flow.one("select count(*) from pgbaton.job_edge") == 0


def test_d06_a_parent_that_has_ended(flow: Session, sound: Sound) -> None:
    completed = flow.enqueue("q")
    run_one(flow, completed)
    child = after(flow, completed)
    run_one(flow, child)
    failed = flow.enqueue("q")
    fail_one(flow, failed)
    waiting = after(flow, failed)
    running = after(flow, failed, on_failed="run")
    cancelled = after(flow, failed, on_failed="cancel")
    run_one(flow, running)
    assert state(flow, waiting) == "pending"
    assert state(flow, cancelled) == "unscheduled"
    sound()


@pytest.mark.parametrize("first", ["parent", "child"])
@pytest.mark.parametrize("isolation", ["read committed", "repeatable read"])
def test_d06_a_parent_that_ends_while_the_child_comes(
    flow: Session, open_session: Open, sound: Sound, first: str, isolation: str
) -> None:
    parent = flow.enqueue("q")
    claimed = flow.claim("q")
    producer, worker = open_session(), open_session()
    producer.begin_with_snapshot(isolation)
    worker.begin_with_snapshot(isolation)
    for session in (producer, worker):
        session.never_waits()
    child = after(producer, parent)
    assert worker.complete(claimed) == ["ok"]
    one, two = (worker, producer) if first == "parent" else (producer, worker)
    one.commit()
    assert flow.claim("q") == {}
    two.commit()
    run_one(flow, child)
    sound()


def test_d06_a_sleeper_is_woken_for_a_child_whose_parent_has_ended(
    flow: Session, open_session: Open
) -> None:
    parent = flow.enqueue("q")
    run_one(flow, parent)
    worker = open_session()
    for _ in range(3):
        worker.rows("select pgbaton.wait_for_jobs('w', array['q'])")
    before = flow.one("select coalesce(pg_sequence_last_value('pgbaton.wake_up_seq'), 0)")
    after(flow, parent)
    assert flow.one("select pg_sequence_last_value('pgbaton.wake_up_seq')") == before + 1
    assert (
        worker.one("select wait from pgbaton.wait_for_jobs('w', array['q'])").total_seconds() == 0
    )


def test_d07_a_parent_that_nobody_knows(flow: Session, open_session: Open) -> None:
    with_one: LiteralString = "select pgbaton.enqueue_job('q', after => array[%s::bigint])"
    assert flow.refusal(with_one, 4711) == "PB002"
    assert flow.refusal(with_one, None) == "22023"
    assert flow.one("select count(*) from pgbaton.job") == 0
    # Of another transaction that has not committed, or that the snapshot does not see.
    other, old = open_session(), open_session()
    old.begin_with_snapshot("repeatable read")
    other.begin()
    parent = other.enqueue("q")
    assert flow.refusal(with_one, parent) == "PB002"
    other.commit()
    assert old.refusal(with_one, parent) == "40001"
    old.rollback()
    # Erased, so that whether it completed is not known.
    run_one(flow, parent)
    flow.rows("select pgbaton.delete_jobs(job_ids => array[%s::bigint])", parent)
    assert flow.refusal(with_one, parent) == "PB002"


# Parents that do not complete -------------------------------------------------------------------


def test_d08_a_failed_parent_never_leaves_a_child_unseen(flow: Session, sound: Sound) -> None:
    parent = flow.enqueue("q")
    child = after(flow, parent, queue="other")
    fail_one(flow, parent)
    assert flow.claim("other") == {}
    assert flow.rows(
        "select queue, job_id, waits_for, waits_for_queue, state::text, last_error"
        " from pgbaton.blocked_jobs()"
    ) == [("other", child, parent, "q", "failed", "no")]
    said = waits_for(flow, child)
    assert f"waits for job {parent}" in said
    assert f"pgbaton.retry_job('q', {parent})" in said
    flow.rows("select pgbaton.retry_job('q', %s)", parent)
    assert flow.rows("select from pgbaton.blocked_jobs()") == []
    run_one(flow, parent)
    run_one(flow, child, "other")
    sound()


def test_d08_a_failed_parent_is_told_of_at_once(flow: Session) -> None:
    """Though another one is watched, that still runs."""
    failing, running = flow.enqueue("q"), flow.enqueue("q")
    waiting = after(flow, failing, running)
    doomed = after(flow, failing, running, on_failed="cancel")
    claimed = flow.claim("q")
    flow.rows("select pgbaton.fail_job(%s, 'no', %s, false)", failing, claimed[failing])
    assert flow.claim("q") == {}
    assert state(flow, doomed) == "unscheduled"
    assert flow.rows("select job_id, waits_for from pgbaton.blocked_jobs('q')") == [
        (waiting, failing)
    ]
    assert flow.complete({running: claimed[running]}) == ["ok"]
    assert flow.claim("q") == {}
    flow.rows("select pgbaton.skip_job('q', %s)", failing)
    run_one(flow, waiting)


ENDS: dict[str, list[LiteralString]] = {
    "completes": ["select pgbaton.complete_job(%(job)s, lease_token => %(token)s)"],
    "fails": ["select pgbaton.fail_job(%(job)s, 'no', %(token)s, false)"],
    "fails with others": [
        "select pgbaton.fail_jobs(array[%(job)s::bigint], array['no'], %(token)s, false)"
    ],
    "loses its last lease": ["select pgbaton.reset_running_jobs('q')"],
    "is stopped": ["select pgbaton.stop_job(%(job)s, '', %(token)s)"],
    "is cancelled while it runs": [
        "select pgbaton.cancel_jobs(job_ids => array[%(job)s::bigint])",
        "select pgbaton.acknowledge_cancellation(%(job)s, true, %(token)s)",
    ],
    "is stopped with a retry": [
        "select pgbaton.cancel_jobs(job_ids => array[%(job)s::bigint])",
        "select pgbaton.stop_job_with_retry(%(job)s, 'no', %(token)s)",
    ],
    "is unknown": ["select pgbaton.mark_job_unknown_stopped(%(job)s)"],
    "is cancelled": [
        "select pgbaton.release_jobs(array[%(job)s::bigint], %(token)s)",
        "select pgbaton.cancel_jobs(job_ids => array[%(job)s::bigint])",
    ],
    "is deleted": [
        "select pgbaton.release_jobs(array[%(job)s::bigint], %(token)s)",
        "select pgbaton.delete_job('q', %(job)s)",
    ],
    "is deleted when it failed": [
        "select pgbaton.fail_job(%(job)s, 'no', %(token)s, false)",
        "select pgbaton.delete_dead_job(%(job)s)",
    ],
    "is purged": [
        "select pgbaton.fail_job(%(job)s, 'no', %(token)s, false)",
        "select pgbaton.purge_dead_jobs('q')",
    ],
    "is requeued": [
        "select pgbaton.fail_job(%(job)s, 'no', %(token)s, false)",
        "select pgbaton.requeue_dead_job(%(job)s)",
        "select pgbaton.pause_queue('q')",
    ],
    "is skipped": [
        "select pgbaton.fail_job(%(job)s, 'no', %(token)s, false)",
        "select pgbaton.skip_job('q', %(job)s)",
    ],
    "goes with its queue": ["select pgbaton.drop_queue('q', true)"],
}
SETTLES = {"completes", "is skipped"}


@pytest.mark.parametrize("end", ENDS)
def test_d09_every_end_of_a_parent(flow: Session, sound: Sound, end: str) -> None:
    parent = flow.enqueue("q")
    children = {
        how: after(flow, parent, queue="other", on_failed=how) for how in ("wait", "cancel", "run")
    }
    claimed = flow.claim("q")
    for statement in ENDS[end]:
        flow.rows(statement, job=parent, token=claimed[parent])
    ran = run_all(flow, "other")
    if end in SETTLES:
        assert sorted(ran) == sorted(children.values())
        return
    assert ran == [children["run"]]
    assert state(flow, children["cancel"]) == "unscheduled"
    assert state(flow, children["wait"]) == "pending"
    assert flow.rows("select job_id from pgbaton.blocked_jobs('other')") == [(children["wait"],)]
    assert f"waits for job {parent}" in waits_for(flow, children["wait"])
    flow.rows("select pgbaton.stop_waiting('other', %s, 'enough')", children["wait"])
    run_one(flow, children["wait"], "other")
    if end != "goes with its queue":
        sound()


def test_d09_a_chain_is_cancelled_to_its_end(flow: Session, sound: Sound) -> None:
    """Level by level, one a claim: a chain of any length is never one transaction."""
    chain = [flow.enqueue("q")]
    for _ in range(5):
        chain += [after(flow, chain[-1], on_failed="cancel")]
    fail_one(flow, chain[0])
    settle(flow)
    assert [state(flow, job) for job in chain[1:]] == ["unscheduled"] * 5
    assert flow.one(WAITS) == 0
    sound()


def test_d10_a_retry_is_no_end(flow: Session, clock: Clock) -> None:
    flow.rows("select pgbaton.update_queue('q', max_attempts => 3)")
    parent = flow.enqueue("q")
    children = [after(flow, parent, on_failed=how) for how in ("wait", "cancel", "run")]
    claimed = flow.claim("q")
    flow.rows("select pgbaton.fail_job(%s, 'no', %s)", parent, claimed[parent])
    assert flow.claim("q") == {}
    assert {state(flow, child) for child in children} == {"pending"}
    clock.advance("1 hour")
    run_one_of = run_all(flow)
    assert run_one_of[0] == parent
    assert sorted(run_one_of[1:]) == children


def test_d11_a_failed_parent_that_is_retried(flow: Session) -> None:
    """What waits goes on; what was cancelled, or has run, stays so and runs no second time."""
    parent = flow.enqueue("q")
    children = {how: after(flow, parent, on_failed=how) for how in ("wait", "cancel", "run")}
    fail_one(flow, parent)
    run_one(flow, children["run"])
    flow.rows("select pgbaton.retry_job('q', %s)", parent)
    assert run_all(flow) == [parent, children["wait"]]
    assert state(flow, children["cancel"]) == "unscheduled"


def test_d11_a_late_completion_counts(flow: Session) -> None:
    parent = flow.enqueue("q")
    child = after(flow, parent)
    claimed = flow.claim("q")
    flow.rows("select pgbaton.mark_job_unknown_stopped(%s)", parent)
    assert flow.claim("q") == {}
    assert flow.rows("select job_id from pgbaton.blocked_jobs()") == [(child,)]
    assert flow.complete(claimed) == ["ok"]
    run_one(flow, child)


# Groups -----------------------------------------------------------------------------------------


def test_d12_nothing_to_wait_for(flow: Session) -> None:
    run_one(flow, after(flow))
    flow.rows("""select pgbaton.enqueue_jobs('q', '[{"after": [], "after_ordinals": []}]')""")
    assert len(run_all(flow)) == 1


def enqueue_flow(db: Session, *jobs: dict[str, Any], queue: str = "q") -> list[int]:
    rows = db.rows(
        "select job_id from pgbaton.enqueue_jobs(%s, %s::jsonb) order by ordinal",
        queue,
        json.dumps(jobs),
    )
    return [row[0] for row in rows]


def test_d13_a_flow_comes_as_a_whole(flow: Session, open_session: Open, sound: Sound) -> None:
    """In one transaction: nobody sees a part of it."""
    producer = open_session()
    producer.begin()
    first, second, last = enqueue_flow(producer, {}, {}, {"after_ordinals": [1, 2]})
    assert flow.one("select count(*) from pgbaton.job") == 0
    producer.commit()
    assert run_all(flow) == [first, second, last]
    sound()


def test_d14_no_job_polls_for_others(flow: Session, open_session: Open) -> None:
    """What begins to wait in a transaction that is undone leaves nothing to look at."""
    enqueue_flow(flow, {}, {"after_ordinals": [1]})
    assert flow.one("select count(*) from pgbaton.baton_release") == 0
    assert len(run_all(flow)) == 2
    producer = open_session()
    producer.begin()
    enqueue_flow(producer, {}, {"after_ordinals": [1]})
    producer.rollback()
    assert flow.one(WAITS) == 0
    assert flow.claim("q") == {}


def test_d15_no_circle_can_be_said(flow: Session) -> None:
    """Ids are of jobs that are there, places of jobs that stand before."""
    for wrong in ([1], [2], [0], [-1], [None]):
        jobs = json.dumps([{"after_ordinals": wrong}, {}])
        assert flow.refusal("select pgbaton.enqueue_jobs('q', %s::jsonb)", jobs) == "22023"
    assert flow.one("select count(*) from pgbaton.job") == 0


def test_d15_a_key_and_its_children_never_wait_in_a_circle(flow: Session, sound: Sound) -> None:
    """A job of a key stands where its enqueue put it, so all that it waits for came before it."""
    flow.rows("select pgbaton.create_fifo_queue('k')")
    a1 = flow.enqueue("k", "a")
    b1 = after(flow, a1, queue="k", key="b")
    a2 = after(flow, b1, queue="k", key="a")
    b2 = after(flow, a2, queue="k", key="b")
    a3 = flow.enqueue("k", "a")
    ran = run_all(flow, "k")
    assert [job for job in ran if job != a3] == [a1, b1, a2, b2]
    assert [job for job in ran if job in (a1, a2, a3)] == [a1, a2, a3]
    sound()


def test_d16_age_lets_nothing_go(flow: Session, clock: Clock) -> None:
    flow.rows(
        "select pgbaton.update_queue('q', dead_letter_retention => '1 day', retention => '1 day')"
    )
    parent, nobodys = flow.enqueue("q"), flow.enqueue("q")
    child = after(flow, parent)
    fail_one(flow, parent)
    fail_one(flow, nobodys)
    clock.advance("30 days")
    flow.rows("select pgbaton.run_maintenance()")
    assert (state(flow, parent), state(flow, child)) == ("failed", "pending")
    assert flow.rows("select from pgbaton.jobs where id = %s", nobodys) == []
    flow.rows("select pgbaton.retry_job('q', %s)", parent)
    assert run_all(flow) == [parent, child]


def test_d17_a_child_goes_by_the_rules_of_its_queue(flow: Session, sound: Sound) -> None:
    """Ten children of one key: one after the other, in the order of their enqueue."""
    flow.rows("select pgbaton.create_fifo_queue('k')")
    parent = flow.enqueue("q")
    children = [after(flow, parent, queue="k", key="a") for _ in range(10)]
    behind = flow.enqueue("k", "a")
    assert flow.claim("k") == {}
    assert "waits for other jobs" in waits_for(flow, behind)
    run_one(flow, parent)
    claimed = flow.claim("k")
    assert list(claimed) == children[:1]
    assert flow.complete(claimed) == ["ok"]
    assert run_all(flow, "k") == [*children[1:], behind]
    sound()


@pytest.mark.parametrize("policy", ["singleton", "stately", "short", "exclusive"])
def test_d17_a_child_of_any_policy(flow: Session, sound: Sound, policy: LiteralString) -> None:
    flow.rows("select pgbaton.create_queue('p', %s::pgbaton.queue_policy)", policy)
    parent = flow.enqueue("q")
    child = after(flow, parent, queue="p", key="a")
    assert flow.claim("p") == {}
    run_one(flow, parent)
    # Of singleton and stately it goes through the line of its key then, as one whose time has come.
    claimed = flow.claim("p") or flow.claim("p")
    assert list(claimed) == [child]
    sound()


def test_d18_a_child_has_attempts_of_its_own(flow: Session, clock: Clock) -> None:
    parent = flow.enqueue("q")
    child = after(flow, parent, max_attempts=2)
    run_one(flow, parent)
    claimed = flow.claim("q")
    assert list(claimed) == [child]
    flow.rows("select pgbaton.fail_job(%s, 'no', %s)", child, claimed[child])
    assert state(flow, child) == "retry"
    clock.advance("1 hour")
    run_one(flow, child)


def test_d19_edges_go_with_their_jobs(flow: Session, clock: Clock) -> None:
    chain = [flow.enqueue("q")]
    for _ in range(4):
        chain += [after(flow, chain[-1])]
    assert run_all(flow) == chain
    assert flow.one("select count(*) from pgbaton.job_edge") == 4
    flow.rows("select pgbaton.delete_jobs(job_ids => array[%s::bigint])", chain[-1])
    assert flow.one("select count(*) from pgbaton.job_edge") == 3
    clock.advance("60 days")
    flow.rows("select pgbaton.run_maintenance()")
    assert flow.one("select count(*) from pgbaton.job_edge") == 0


def test_d20_a_flow_is_cancelled(flow: Session, sound: Sound) -> None:
    """By its tag, also what has not started; what runs is asked to stop."""
    running = flow.enqueue("q", tags=["flow 7"])
    others = [after(flow, running, tags=["flow 7"]) for _ in range(3)]
    claimed = flow.claim("q", 1)
    flow.rows("select pgbaton.cancel_jobs(array['flow 7'])")
    assert state(flow, running) == "cancelling"
    assert [state(flow, job) for job in others] == ["unscheduled"] * 3
    flow.rows("select pgbaton.acknowledge_cancellation(%s, true, %s)", running, claimed[running])
    settle(flow)
    assert flow.one(WAITS) == 0
    sound()


# Results, times and numbers ---------------------------------------------------------------------


def test_d05_results_of_parents_are_read_by_who_runs_the_child(flow: Session) -> None:
    parents = [flow.enqueue("q"), flow.enqueue("other")]
    child = after(flow, *parents)
    for job, queue in zip(parents, ("q", "other"), strict=True):
        claimed = flow.claim(queue)
        flow.rows(
            "select pgbaton.complete_job(%s, lease_token => %s, result => %s::jsonb)",
            job, claimed[job], json.dumps({"of": job}),
        )  # fmt: skip
    read: LiteralString = "select job_id, state::text, result from pgbaton.parent_outcomes(%s, %s)"
    assert flow.refusal(read, child, None) == "PB003"
    token = flow.claim("q")[child]
    assert flow.rows(read, child, token) == [(job, "completed", {"of": job}) for job in parents]
    assert flow.refusal(read, child, token + 1) == "PB004"


def test_d17_a_time_of_its_own_counts_as_well(flow: Session, clock: Clock) -> None:
    parent = flow.enqueue("q")
    child = after(flow, parent, delay="1 hour")
    other = after(flow, parent)
    given = flow.one("select run_at from pgbaton.get_job(%s)", child)
    assert given is not None
    assert flow.one("select run_at from pgbaton.get_job(%s)", other) is None
    assert flow.one("select pgbaton.reschedule_job('q', %s, now() + '2 hours')", other) == "in_line"
    assert run_all(flow) == [parent]
    clock.advance("61 minutes")
    assert run_all(flow) == [child]
    clock.advance("61 minutes")
    assert run_all(flow) == [other]


def test_d01_a_hundred_thousand_parents_and_no_more(flow: Session) -> None:
    too_many: LiteralString = (
        "select pgbaton.enqueue_job('q', after => array(select generate_series(1, 100001)::bigint))"
    )
    assert flow.refusal(too_many) == "22023"


def test_d01_the_last_of_many_parents_costs_what_the_first_does(
    flow: Session, open_session: Open
) -> None:
    """In blocks, under a snapshot that nothing that died meanwhile can leave."""
    parents = flow.enqueue_batch("q", 2000)
    child = after(flow, *parents)
    old = open_session()
    old.begin_with_snapshot("repeatable read")
    claimed = list(flow.claim("q", 2000).items())
    flow.claim("q")
    costs = []
    for job, token in claimed:
        flow.begin()
        cost = measure(flow, "select pgbaton.complete_job(%s, lease_token => %s)", job, token)
        costs += [cost.buffers]
        flow.commit()
        if job % 100 == 0:
            flow.claim("other")
    # In sum: what others do on the server makes one call or the other read the catalog anew.
    assert sum(costs[-101:-1]) < 1.5 * sum(costs[100:200])
    assert costs[-1] < 2 * max(costs[100:200])
    old.rollback()
    run_one(flow, child)
