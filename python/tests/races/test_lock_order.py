"""Two calls that need the same locks: one waits for the other, never both (40P01).

Each test brings both calls half-way: a third session, the gate, holds a lock in the middle of what
they need, and lets go once both are seen to wait. The keys `low`, `mid` and `high` stand for
stripes in that order.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from sessions import Session, Waiting

Open = Callable[[], Session]
Sound = Callable[[], None]
A, B = (f"{n}" * 8 + "-0000-0000-0000-000000000000" for n in "12")


class Keys(NamedTuple):
    low: str
    mid: str
    high: str


@pytest.fixture
def gate(open_session: Open) -> Session:
    return open_session()


@pytest.fixture
def first(open_session: Open) -> Session:
    return open_session()


@pytest.fixture
def second(open_session: Open) -> Session:
    return open_session()


@pytest.fixture
def keys(db: Session) -> Keys:
    """Of the FIFO queue q."""
    db.rows("select pgbaton.create_fifo_queue('q')")
    return Keys(*sorted("abc", key=lambda key: stripe(db, key)))


def without_order(db: Session) -> None:
    """Makes q a standard queue."""
    db.rows("select pgbaton.set_fifo_mode('q', false)")


def stripe(db: Session, key: str) -> int:
    found: int = db.one("select pgbaton._stripe(id, %s) from pgbaton.queue where name = 'q'", key)
    return found


def stage(db: Session, run_id: str, attempt: str, **columns: list[list[Any]]) -> None:
    """A chunk for each list of the columns."""
    for n in range(max(len(values) for values in columns.values())):
        given = {name: values[n] for name, values in columns.items()}
        rows = max(len(values) for values in given.values())
        names = "".join(f", {name} => %({name})s" for name in given)
        db.rows(
            "select pgbaton.spark_stage(%(run)s, %(attempt)s, 0, %(n)s, 'q',"
            f" array_fill('{{}}'::jsonb, array[%(rows)s]){names})",
            run=run_id,
            attempt=attempt,
            n=n,
            rows=rows,
            **given,
        )


def commit(session: Session, run_id: str, attempt: str, rows: int) -> Waiting:
    return session.start(
        "select inserted, deduped from pgbaton.spark_commit(%s, array[%s]::uuid[], %s)",
        run_id,
        attempt,
        rows,
    )


ENQUEUE = (
    "select pgbaton.enqueue_job('q', singleton_key => %s, dedup_id => %s, job_type => %s,"
    " on_duplicate => 'skip')"
)
JOBS = "select outcome from pgbaton.enqueue_jobs('q', %s)"
BATCH = (
    "select pgbaton.enqueue_batch('q', array_agg('{}'::jsonb), array_agg(k))"
    " from unnest(%s::text[]) as k"
)


def jobs(**columns: list[Any]) -> str:
    return json.dumps(
        [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    )


# Dedup ids before keys ----------------------------------------------------------------------------
def test_a_commit_and_a_producer_of_one_of_its_ids_and_keys(
    db: Session, keys: Keys, gate: Session, first: Session, second: Session, sound: Sound
) -> None:
    stage(db, "r", A, singleton_keys=[[keys.low, keys.mid]], dedup_ids=[["x", "y"]])
    gate.begin()
    gate.enqueue("q", keys.mid)
    committing = commit(first, "r", A, 2).until_blocked(gate)
    enqueuing = second.start(ENQUEUE, keys.low, "x", "").until_blocked(first)
    gate.rollback()
    assert (committing.refusal(), enqueuing.refusal()) == (None, None)
    assert committing.rows() == [(2, 0)]
    assert db.one("select job_id from pgbaton.dedup where dedup_id = 'x'") == enqueuing.one()
    assert db.one("select count(*) from pgbaton.jobs") == 2
    sound()


def test_a_producer_of_one_of_the_ids_and_keys_of_a_commit_that_comes_first(
    db: Session, keys: Keys, gate: Session, first: Session, second: Session, sound: Sound
) -> None:
    stage(db, "r", A, singleton_keys=[[keys.mid, keys.low]], dedup_ids=[["x", "y"]])
    gate.begin()
    gate.enqueue("q", keys.mid)
    enqueuing = first.start(ENQUEUE, keys.mid, "x", "").until_blocked(gate)
    committing = commit(second, "r", A, 2).until_blocked(first)
    gate.rollback()
    assert (committing.refusal(), enqueuing.refusal()) == (None, None)
    assert committing.rows() == [(1, 1)]
    sound()


def test_a_statement_with_two_parts_and_a_producer_of_one_of_their_ids_and_keys(
    db: Session, keys: Keys, gate: Session, first: Session, second: Session, sound: Sound
) -> None:
    gate.begin()
    gate.enqueue("q", keys.mid)
    inserting = first.start(
        "insert into pgbaton.enqueue_inbox (queue, singleton_key, dedup_id, run_id, part, parts)"
        " values ('q', %(low)s, 'x', 'r', 0, 2), ('q', %(mid)s, 'z', 'r', 0, 2),"
        " ('q', %(low)s, 'y', 'r', 1, 2), ('q', %(low)s, 'x', 'r', 1, 2)",
        **keys._asdict(),
    ).until_blocked(gate)
    enqueuing = second.start(ENQUEUE, keys.low, "y", "").until_blocked(first)
    gate.rollback()
    assert (inserting.refusal(), enqueuing.refusal()) == (None, None)
    assert db.rows("select * from pgbaton.spark_run('r')") == [(0, 2, 0), (1, 1, 1)]
    sound()


# Dedup ids sorted ---------------------------------------------------------------------------------
def test_a_commit_and_a_bulk_producer_of_its_ids_in_another_order(
    db: Session, keys: Keys, gate: Session, first: Session, second: Session, sound: Sound
) -> None:
    without_order(db)
    stage(db, "r", A, dedup_ids=[["b", "c"], ["a"]])
    gate.begin()
    gate.rows(ENQUEUE, None, "c", "")
    committing = commit(first, "r", A, 3).until_blocked(gate)
    enqueuing = second.start(JOBS, jobs(dedup_id=["a", "b"])).until_blocked(first)
    gate.rollback()
    assert (committing.refusal(), enqueuing.refusal()) == (None, None)
    assert committing.rows() == [(3, 0)]
    assert enqueuing.rows() == [("duplicate",), ("duplicate",)]
    sound()


@pytest.mark.parametrize("gate_end", ["commit", "rollback"])
def test_two_commits_with_the_same_ids_in_opposite_order(
    db: Session,
    keys: Keys,
    gate: Session,
    first: Session,
    second: Session,
    sound: Sound,
    gate_end: str,
) -> None:
    for run_id, attempt, order in (("r", A, "abc"), ("s", B, "cba")):
        stage(
            db,
            run_id,
            attempt,
            singleton_keys=[[f"{run_id} {name}"] for name in order],
            dedup_ids=[[name] for name in order],
        )
    gate.begin()
    gate.rows(ENQUEUE, "of the gate", "b", "")
    calls = [
        commit(session, run_id, attempt, 3).until_blocked()
        for session, run_id, attempt in ((first, "r", A), (second, "s", B))
    ]
    gate.end(gate_end)
    assert [call.refusal() for call in calls] == [None, None]
    inserted = 2 if gate_end == "commit" else 3
    assert [call.rows() for call in calls] == [[(inserted, 3 - inserted)], [(0, 3)]]
    assert db.one("select count(*) from pgbaton.jobs") == 3
    assert db.one("select count(distinct job_id) from pgbaton.dedup where job_id > 0") == 3
    sound()


# Staged rows --------------------------------------------------------------------------------------
@pytest.mark.parametrize("staged", [(A, B), (B, A)])
def test_abort_and_commit_drop_the_same_rows(
    db: Session,
    keys: Keys,
    gate: Session,
    first: Session,
    second: Session,
    sound: Sound,
    staged: tuple[str, str],
) -> None:
    for attempt in staged:
        stage(db, "r", attempt, singleton_keys=[["k"]])
    gate.begin()
    gate.rows("select from pgbaton.spark_chunk where attempt = %s for update", A)
    committing = first.start(
        "select inserted from pgbaton.spark_commit('r', array[%s, %s]::uuid[], 2)", A, B
    ).until_blocked(gate)
    aborting = second.start("select pgbaton.spark_abort('r')").until_blocked()
    gate.rollback()
    assert (committing.refusal(), aborting.refusal()) == (None, None)
    assert (committing.one(), aborting.one()) == (2, 0)
    sound()


@pytest.mark.parametrize("ending", ["commit", "rollback"])
@pytest.mark.parametrize("queue", ["q", "plain"])
def test_stored_rows_are_aborted_or_committed(
    db: Session, first: Session, second: Session, sound: Sound, queue: str, ending: str
) -> None:
    """Rows that stand in pgbaton.job already: never a place in line without its row."""
    db.rows("select pgbaton.create_fifo_queue('q'), pgbaton.create_queue('plain')")
    for name in ("q", "plain"):
        db.enqueue(name, "other")
    keys = "null" if queue == "plain" else "'{k,k}'"
    staging = f"select pgbaton.spark_stage('r', %s, 0, 1, '{queue}', '{{1,2}}', {keys})"
    commit = "select inserted from pgbaton.spark_commit('r', array[%s]::uuid[], 2)"
    abort = "select pgbaton.spark_abort('r')"

    db.rows(staging, A)
    assert db.one("select los is not null from pgbaton.spark_chunk") is True
    first.begin()
    assert first.one(commit, A) == 2
    aborting = second.start(abort).until_blocked(first)
    first.end(ending)
    assert aborting.one() == (0 if ending == "commit" else 2)
    left = 2 if ending == "commit" else 0
    assert db.one("select count(*) from pgbaton.jobs") == 2 + left
    assert db.one("select count(*) from pgbaton.job") == 2 + left
    sound()

    if ending == "rollback":
        db.rows(staging, B)
        second.begin()
        assert second.one(abort) == 2
        committing = first.start(commit, B).until_blocked(second)
        second.commit()
        assert committing.refusal() == "PB003"
        assert db.one("select count(*) from pgbaton.job") == 2
        sound()


# Maintenance --------------------------------------------------------------------------------------
def schedule(db: Session, name: str, key: str) -> None:
    db.rows("select pgbaton.create_schedule(%s, 'q', '* * * * *', singleton_key => %s)", name, key)
    db.rows("update pgbaton.schedule set next_run_at = now() - interval '10 seconds'")


def test_schedules_and_a_bulk_producer_of_their_keys(
    db: Session, keys: Keys, gate: Session, first: Session, second: Session, sound: Sound
) -> None:
    for name, key in zip("123", (keys.high, keys.mid, keys.low), strict=True):
        schedule(db, name, key)
    gate.begin()
    gate.enqueue("q", keys.mid)
    maintaining = first.start("select pgbaton.run_maintenance()").until_blocked(gate)
    both = [keys.high, keys.low]
    enqueuing = second.start(BATCH, both).until_blocked(first)
    gate.rollback()
    assert (maintaining.refusal(), enqueuing.refusal()) == (None, None)
    assert db.one("select count(*) from pgbaton.jobs") == 5
    sound()


@pytest.mark.parametrize("change", ["set_fifo_mode('q', false)", "drop_queue('q')"])
def test_schedules_leave_a_queue_alone_that_changes(
    db: Session, keys: Keys, first: Session, second: Session, sound: Sound, change: str
) -> None:
    schedule(db, "s", keys.low)
    first.begin()
    first.rows(f"select pgbaton.{change}".encode())  # type: ignore[arg-type]
    second.never_waits()
    assert second.one("select pgbaton.run_maintenance()")["scheduled"] == 0
    first.rollback()
    assert second.one("select pgbaton.run_maintenance()")["scheduled"] == 1
    sound()


def fail(db: Session, *names: str) -> list[int]:
    """Jobs of these keys that failed and hold up nothing."""
    db.rows("select pgbaton.update_queue('q', on_exhausted => 'continue')")
    found = []
    for name in names:
        found.append(db.enqueue("q", name, max_attempts=1))
        ((job, token),) = db.claim("q").items()
        db.rows("select pgbaton.fail_job(%s, 'no', %s)", job, token)
    return found


def test_expiring_dead_letters_and_a_retry_of_one(
    db: Session, keys: Keys, gate: Session, first: Session, second: Session, sound: Sound
) -> None:
    (job,) = fail(db, keys.low)
    db.rows("select pgbaton.update_queue('q', dead_letter_retention => '1 day')")
    db.rows("update pgbaton.span set changed_at = now() - interval '2 days' where lo = %s", job)
    for name, key in zip("12", (keys.low, keys.mid), strict=True):
        schedule(db, name, key)
    gate.begin()
    gate.enqueue("q", keys.mid)
    maintaining = first.start("select pgbaton.run_maintenance()").until_blocked(gate)
    retrying = second.start("select pgbaton.retry_job('q', %s)", job).until_blocked(first)
    gate.rollback()
    assert (maintaining.refusal(), retrying.refusal()) == (None, "PB003")
    sound()


def test_schedules_wait_for_no_producer_while_tables_are_locked(
    db: Session, keys: Keys, gate: Session, first: Session, second: Session, sound: Sound
) -> None:
    for name, key in zip("12", (keys.mid, keys.high), strict=True):
        schedule(db, name, key)
    last = db.one("select to_char(pgbaton._day(pgbaton._now()) + 3, 'YYYYMMDD')")
    for table in ("job", "job_history", "job_report", "job_error"):
        db.rows(f"drop table pgbaton.{table}_{last}")
    db.rows("delete from pgbaton.watermark where kind = 'partitions'")
    gate.begin()
    gate.rows("select pg_advisory_xact_lock(pgbaton._lock_class(), %s)", stripe(db, keys.mid))
    maintaining = first.start("select pgbaton.run_maintenance()").until_blocked(gate)
    enqueuing = second.start(BATCH, [keys.high]).until_settled()
    gate.rollback()
    assert (maintaining.refusal(), enqueuing.refusal()) == (None, None)
    assert db.one("select to_regclass(%s) is not null", f"pgbaton.job_error_{last}")
    sound()


# Retries ------------------------------------------------------------------------------------------
def test_retrying_many_jobs_and_a_bulk_producer_of_their_keys(
    db: Session, keys: Keys, gate: Session, first: Session, second: Session, sound: Sound
) -> None:
    fail(db, keys.high, keys.mid, keys.low)
    gate.begin()
    gate.enqueue("q", keys.mid)
    retrying = first.start("select pgbaton.retry_jobs('q')").until_blocked(gate)
    both = [keys.high, keys.low]
    enqueuing = second.start(BATCH, both).until_blocked(first)
    gate.rollback()
    assert (retrying.refusal(), enqueuing.refusal()) == (None, None)
    assert retrying.one() == 3
    sound()


def test_retrying_many_jobs_and_one_of_them(
    db: Session, keys: Keys, gate: Session, first: Session, second: Session, sound: Sound
) -> None:
    *_, job = fail(db, keys.low, keys.mid, keys.low)
    gate.begin()
    gate.enqueue("q", keys.mid)
    all_of_them = first.start("select pgbaton.retry_jobs('q')").until_blocked(gate)
    retrying = second.start("select pgbaton.retry_job('q', %s)", job).until_blocked(first)
    gate.rollback()
    assert (all_of_them.refusal(), retrying.refusal()) == (None, "PB003")
    sound()


# Jobs that replace others -------------------------------------------------------------------------
def replacing(**columns: list[Any]) -> str:
    many = len(next(iter(columns.values())))
    return jobs(**columns, on_duplicate=["replace"] * many)


@pytest.mark.parametrize("gate_end", ["commit", "rollback"])
def test_two_producers_that_replace_the_same_ids_in_opposite_order(
    db: Session,
    keys: Keys,
    gate: Session,
    first: Session,
    second: Session,
    sound: Sound,
    gate_end: str,
) -> None:
    names = ["a", "b", "c"]
    db.rows(JOBS, jobs(dedup_id=names, singleton_key=[keys.high, keys.low, keys.mid]))
    gate.begin()
    gate.rows(JOBS, replacing(dedup_id=["b"], singleton_key=[keys.low]))
    calls = [
        session.start(JOBS, replacing(dedup_id=order, singleton_key=of_keys)).until_blocked()
        for session, order, of_keys in (
            (first, names, [keys.high, keys.low, keys.mid]),
            (second, names[::-1], [keys.mid, keys.low, keys.high]),
        )
    ]
    gate.end(gate_end)
    assert [call.refusal() for call in calls] == [None, None]
    assert {row for call in calls for row in call.rows()} == {("replaced",)}
    assert db.one("select count(*) from pgbaton.jobs where state = 'pending'") == 3
    sound()


@pytest.mark.parametrize("policy", ["short", "stately", "exclusive"])
def test_two_producers_that_replace_by_keys_in_opposite_order(
    db: Session, gate: Session, first: Session, second: Session, sound: Sound, policy: str
) -> None:
    db.rows("select pgbaton.create_queue('q', %s)", policy)
    keys = sorted("abc", key=lambda key: stripe(db, key))
    db.rows(JOBS, jobs(singleton_key=keys))
    gate.begin()
    gate.rows(JOBS, replacing(singleton_key=keys[1:2]))
    calls = [
        session.start(JOBS, replacing(singleton_key=order)).until_blocked()
        for session, order in ((first, keys), (second, keys[::-1]))
    ]
    gate.commit()
    assert [call.refusal() for call in calls] == [None, None]
    assert {row for call in calls for row in call.rows()} == {("replaced",)}
    sound()


@pytest.mark.parametrize("is_replacing_first", [True, False])
@pytest.mark.parametrize("policy", ["standard", "short"])
def test_replacing_many_jobs_and_cancelling_them(
    db: Session,
    gate: Session,
    first: Session,
    second: Session,
    sound: Sound,
    policy: str,
    is_replacing_first: bool,
) -> None:
    """Against the order of their ids, in spans of their own; the gate has the one in the middle."""
    db.rows("select pgbaton.create_queue('q', %s)", policy)
    names = ["c", "b", "a"]
    ids = [db.enqueue("q", name, dedup_id=name) for name in names[::-1]]
    gate.begin()
    gate.rows("select from pgbaton.span where lo = %s for update", ids[1])
    replace = (JOBS, replacing(dedup_id=names, singleton_key=names))
    cancel = ("select cancelled_job_ids from pgbaton.cancel_jobs(job_ids => %s)", ids)
    order = (replace, cancel) if is_replacing_first else (cancel, replace)
    calls = [
        session.start(*call).until_blocked()
        for session, call in zip((first, second), order, strict=True)
    ]
    gate.rollback()
    assert [call.refusal() for call in calls] == [None, None]
    outcome = "replaced" if is_replacing_first else "enqueued"
    assert calls[not is_replacing_first].rows() == [(outcome,)] * 3
    assert calls[is_replacing_first].one() == ([] if is_replacing_first else ids)
    sound()


@pytest.mark.parametrize("policy", ["stately", "exclusive"])
def test_replacing_jobs_and_retrying_failed_ones_of_their_keys(
    db: Session, gate: Session, first: Session, second: Session, sound: Sound, policy: str
) -> None:
    db.rows("select pgbaton.create_queue('q', %s)", policy)
    keys = sorted("abc", key=lambda key: stripe(db, key))
    failed = fail(db, *keys)
    db.rows(JOBS, jobs(singleton_key=keys[:1]))
    gate.begin()
    gate.rows("select pg_advisory_xact_lock(pgbaton._lock_class(), %s)", stripe(db, keys[1]))
    call = "select pgbaton.retry_job('q', %s)"
    retrying = first.start(call, failed[1]).until_blocked(gate)
    putting = second.start(JOBS, replacing(singleton_key=keys[::-1])).until_blocked(gate)
    gate.rollback()
    assert putting.refusal() is None
    assert retrying.refusal() in (None, "PB006")
    sound()


# Jobs that move while they are waited for ---------------------------------------------------------
OF_SEVERAL = {
    "complete_jobs": "select from pgbaton.complete_jobs(%(jobs)s, %(token)s)",
    "complete_claim": "select pgbaton.complete_claim(%(token)s)",
    "complete_jobs with results": "select from pgbaton.complete_jobs(%(jobs)s, %(token)s,"
    " array_fill('1'::jsonb, array[3]))",
    "fail_jobs": "select from pgbaton.fail_jobs(%(jobs)s, '{a,b,c}', %(token)s)",
    "release_jobs": "select from pgbaton.release_jobs(%(jobs)s, %(token)s)",
    "extend_leases": "select from pgbaton.extend_leases(%(jobs)s, %(token)s)",
    "start_jobs": "select from pgbaton.start_jobs(%(jobs)s, %(token)s)",
    "cancel_jobs": "select pgbaton.cancel_jobs(job_ids => %(jobs)s)",
    "mark_worker_unresponsive": "select pgbaton.mark_worker_unresponsive(%(worker)s)",
    "reset_running_jobs": "select pgbaton.reset_running_jobs('q')",
    "set_fifo_mode": "select pgbaton.set_fifo_mode('q', not %(ordered)s)",
    "set_queue_limits": "select pgbaton.set_queue_limits('q', max_running => 9)",
    "drop_queue": "select pgbaton.drop_queue('q', true)",
}


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("call", OF_SEVERAL)
def test_a_call_for_several_jobs_of_which_one_moves_and_a_completion(
    db: Session,
    keys: Keys,
    gate: Session,
    first: Session,
    second: Session,
    sound: Sound,
    call: str,
    ordered: bool,
) -> None:
    """It is looked for again with nothing else in hand."""
    if not ordered:
        without_order(db)
    jobs = db.enqueue_batch("q", 3, list(keys))
    held = db.claim("q")
    moved, stays, last = jobs
    token = held[moved]
    extend = "select verdict from pgbaton.extend_leases(array[%s], %s)"
    first.begin()
    first.rows(extend, moved, token)
    gate.begin()
    gate.rows(extend, last, token)
    taking = second.start(
        OF_SEVERAL[call], jobs=jobs, token=token, worker=f"worker {db.pid}", ordered=ordered
    ).until_blocked(first)
    first.commit()
    taking.until_settled()
    completing = first.start(
        "select verdict from pgbaton.complete_jobs(%s, %s)", [moved, stays], token
    ).until_settled()
    gate.rollback()
    assert (taking.refusal(), completing.refusal()) == (None, None)
    sound()


@pytest.mark.parametrize("call", ["mark_worker_unresponsive", "reset_running_jobs"])
def test_a_job_that_is_extended_while_all_of_its_worker_are_taken(
    db: Session, keys: Keys, first: Session, second: Session, sound: Sound, call: str
) -> None:
    """It is in another row then, and is taken as well."""
    without_order(db)
    jobs = db.enqueue_batch("q", 3, list(keys))
    held = db.claim("q")
    first.begin()
    first.rows("select from pgbaton.extend_leases(array[%s], %s)", jobs[0], held[jobs[0]])
    taking = second.start(OF_SEVERAL[call], worker=f"worker {db.pid}").until_blocked(first)
    first.commit()
    assert taking.one() == 3
    assert db.rows("select id from pgbaton.live_jobs where state = 'active'") == []
    sound()


def test_a_queue_with_limits_that_is_put_out_of_order_and_a_failure(
    db: Session, keys: Keys, gate: Session, first: Session, second: Session, sound: Sound
) -> None:
    """Who fails a job locks it, then its queue."""
    db.rows("select pgbaton.set_queue_limits('q', max_running => 9)")
    one, other = db.enqueue_batch("q", 2, [keys.low, keys.high])
    held = db.claim("q")
    gate.begin()
    gate.rows("select from pgbaton.extend_leases(array[%s], %s)", one, held[one])
    seizing = first.start("select pgbaton.set_fifo_mode('q', false)").until_blocked(gate)
    failing = second.start("select pgbaton.fail_job(%s, 'no', %s)", other, held[other])
    failing.until_settled()
    gate.rollback()
    assert (seizing.refusal(), failing.refusal()) == (None, None)
    sound()
