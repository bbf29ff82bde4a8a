"""Two attempts at the same run of Spark, or two runs that share something: nothing is twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sessions import Session

Open = Callable[[], Session]
Sound = Callable[[], None]
A, B = (f"{n}" * 8 + "-0000-0000-0000-000000000000" for n in "12")


@pytest.fixture(autouse=True)
def queues(db: Session) -> None:
    db.rows("select pgbaton.create_queue('mail'), pgbaton.create_fifo_queue('orders')")


SEND = (
    "insert into pgbaton.enqueue_inbox (queue, payload, run_id, part, parts, dedup_id)"
    " values ('mail', to_jsonb(%(part)s::int), 'r', %(part)s, %(parts)s, %(dedup_id)s)"
)
COMMIT = "select * from pgbaton.spark_commit(%s, array[%s]::uuid[], 2)"


def cut(part: int, parts: int, dedup_id: str | None = None) -> dict[str, object]:
    return {"part": part, "parts": parts, "dedup_id": dedup_id}


def parts(db: Session) -> list[int]:
    return [row[0] for row in db.rows("select payload::int from pgbaton.jobs order by 1")]


# The view enqueue_inbox ---------------------------------------------------------------------------
@pytest.mark.parametrize("first_end", ["commit", "rollback"])
def test_second_attempt_at_a_partition_waits_for_what_becomes_of_the_first(
    db: Session, open_session: Open, sound: Sound, first_end: str
) -> None:
    first, second = open_session(), open_session()
    db.rows("select pgbaton.spark_begin('r', 2)")
    first.begin()
    first.rows(SEND, **cut(1, 2))
    second.begin()
    waiting = second.start(SEND, **cut(1, 2)).until_blocked(first)
    first.end(first_end)
    waiting.rows()
    second.rows(SEND, **cut(1, 2))
    second.commit()
    assert parts(db) == ([1] if first_end == "commit" else [1, 1])
    assert db.rows("select part, jobs from pgbaton.spark_run('r')") == [(1, len(parts(db)))]
    sound()


def test_partitions_of_a_run_that_was_begun_do_not_wait_for_each_other(
    db: Session, open_session: Open, sound: Sound
) -> None:
    first, second = open_session(), open_session()
    db.rows("select pgbaton.spark_begin('r', 2)")
    first.begin()
    first.rows(SEND, **cut(0, 2))
    second.never_waits()
    second.rows(SEND, **cut(1, 2))
    first.commit()
    assert parts(db) == [0, 1]
    sound()


@pytest.mark.parametrize("first_end", ["commit", "rollback"])
def test_partition_of_another_cut_waits_and_is_refused_only_if_the_first_commits(
    db: Session, open_session: Open, sound: Sound, first_end: str
) -> None:
    first, second = open_session(), open_session()
    first.begin()
    first.rows(SEND, **cut(0, 4))
    waiting = second.start(SEND, **cut(5, 7)).until_blocked(first)
    first.end(first_end)
    assert waiting.refusal() == ("PB013" if first_end == "commit" else None)
    assert parts(db) == [0 if first_end == "commit" else 5]
    sound()


@pytest.mark.parametrize("zombie_end", ["commit", "rollback"])
def test_a_run_is_begun_anew_only_if_the_last_zombie_of_it_rolled_back(
    db: Session, open_session: Open, sound: Sound, zombie_end: str
) -> None:
    zombie, again = open_session(), open_session()
    db.rows("select pgbaton.spark_begin('r', 4)")
    zombie.begin()
    zombie.rows(SEND, **cut(2, 4))
    waiting = again.start("select pgbaton.spark_begin('r', 7)").until_blocked(zombie)
    zombie.end(zombie_end)
    assert waiting.refusal() == ("PB013" if zombie_end == "commit" else None)
    late = open_session().start(SEND, **cut(3, 4))
    assert late.refusal() == (None if zombie_end == "commit" else "PB013")
    sound()


def test_partitions_with_the_same_ids_in_opposite_order_take_turns(
    db: Session, open_session: Open, sound: Sound
) -> None:
    first, second = open_session(), open_session()
    db.rows("select pgbaton.spark_begin('r', 2)")
    first.begin()
    first.rows(SEND, **cut(0, 2, "x"))
    second.begin()
    waiting = second.start(SEND, **cut(1, 2, "y")).until_blocked(first)
    first.rows(SEND, **cut(0, 2, "y"))
    first.commit()
    waiting.rows()
    second.rows(SEND, **cut(1, 2, "x"))
    second.commit()
    assert parts(db) == [0, 0]
    assert db.rows("select jobs, duplicates from pgbaton.spark_run('r')") == [(2, 0), (0, 2)]
    sound()


# spark_commit -------------------------------------------------------------------------------------
def stage(session: Session, run_id: str, attempt: str, key: str = "k") -> None:
    session.rows(
        "select pgbaton.spark_stage(%s, %s, 0, 1, 'orders', '{1,2}', array[%s, %s])",
        run_id,
        attempt,
        key,
        key,
    )


@pytest.mark.parametrize("first_end", ["commit", "rollback"])
def test_second_commit_of_a_run_waits_for_what_becomes_of_the_first(
    db: Session, open_session: Open, sound: Sound, first_end: str
) -> None:
    first, second = open_session(), open_session()
    stage(db, "r", A)
    stage(db, "r", B)
    first.begin()
    first.rows(COMMIT, "r", A)
    waiting = second.start(COMMIT, "r", B).until_blocked(first)
    first.end(first_end)
    assert waiting.rows() == ([(0, 0, 2)] if first_end == "commit" else [(2, 0, 0)])
    assert parts(db) == [1, 2]
    sound()


def test_commits_of_two_runs_with_the_same_keys_take_turns(
    db: Session, open_session: Open, sound: Sound
) -> None:
    first, second = open_session(), open_session()
    stage(db, "r", A)
    stage(db, "s", B)
    first.begin()
    first.rows(COMMIT, "r", A)
    waiting = second.start(COMMIT, "s", B).until_blocked(first)
    first.commit()
    assert waiting.rows() == [(2, 0, 0)]
    assert parts(db) == [1, 1, 2, 2]
    sound()


def test_abort_beside_a_commit_leaves_all_or_nothing(
    db: Session, open_session: Open, sound: Sound
) -> None:
    first, second = open_session(), open_session()
    stage(db, "r", A)
    first.begin()
    first.rows("select pgbaton.spark_abort('r')")
    waiting = second.start(COMMIT, "r", A).until_blocked(first)
    first.commit()
    assert waiting.refusal() == "PB003"
    assert parts(db) == []
    sound()


def test_a_commit_whose_rows_are_dropped_while_it_waits_is_refused(
    db: Session, open_session: Open, sound: Sound
) -> None:
    producer, committer = open_session(), open_session()
    db.rows("select pgbaton.enqueue_batch('orders', '{}')")
    stage(db, "r", A)
    producer.begin()
    producer.enqueue("orders", "k")
    waiting = committer.start(COMMIT, "r", A).until_blocked(producer)
    assert db.one("select pgbaton.spark_abort('r')") == 2
    producer.rollback()
    assert waiting.refusal() == "PB003"
    assert db.rows("select * from pgbaton.spark_run('r')") == []
    stage(db, "r", B)
    assert db.rows(COMMIT, "r", B) == [(2, 0, 0)]
    sound()


def test_a_commit_and_the_view_take_the_locks_of_ids_and_keys_in_one_order(
    db: Session, open_session: Open, sound: Sound
) -> None:
    producer, committer, writer = open_session(), open_session(), open_session()
    db.rows("select pgbaton.enqueue_batch('orders', '{}')")
    stripes = dict(
        db.rows(
            "select k.key, pgbaton._stripe(q.id, k.key) from pgbaton.queue as q"
            " cross join unnest(array['a', 'b']) as k (key) where q.name = 'orders'"
        )
    )
    first, second = sorted(stripes, key=lambda key: stripes[key])
    db.rows(
        "select pgbaton.spark_stage('r', %s, 0, 1, 'orders', '{1,2}', %s, dedup_ids => '{x,y}')",
        A,
        [first, second],
    )
    producer.begin()
    producer.enqueue("orders", second)
    committing = committer.start(COMMIT, "r", A).until_blocked(producer)
    writing = writer.start(
        "insert into pgbaton.enqueue_inbox (queue, singleton_key, dedup_id)"
        " values ('orders', %s, 'z')",
        first,
    ).until_blocked(committer)
    producer.rollback()
    assert (committing.rows(), writing.refusal()) == ([(2, 0, 0)], None)
    sound()


def test_rows_that_are_staged_while_a_delete_waits_are_not_deleted(
    db: Session, open_session: Open, sound: Sound
) -> None:
    holder, deleter = open_session(), open_session()
    failed = db.enqueue("mail")
    token = db.claim("mail")[failed]
    db.rows("select pgbaton.fail_job(%s, 'no', %s, retryable => false)", failed, token)
    holder.begin()
    holder.rows("select from pgbaton.span where lo = %s for update", failed)
    deleting = deleter.start(
        "select pgbaton.delete_jobs(job_ids => array(select generate_series(%s::bigint, %s)))",
        failed,
        failed + 10,
    ).until_blocked(holder)
    db.rows("select pgbaton.spark_stage('r', %s, 0, 1, 'mail', '{1,2}')", A)
    holder.commit()
    assert deleting.one() == 1
    assert db.rows(COMMIT, "r", A) == [(2, 0, 0)]
    sound()
