"""Two sessions and one key: the baton is never lost, doubled or passed out of order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, LiteralString

import pytest
from sessions import Clock, Session

Open = Callable[[], Session]
Sound = Callable[[], None]

HOT = "hot"


@pytest.fixture
def fifo(db: Session) -> None:
    db.rows("select pgbaton.create_fifo_queue('q')")


@pytest.fixture
def continuing(db: Session) -> None:
    db.rows("select pgbaton.create_fifo_queue('q', max_attempts => 1, on_exhausted => 'continue')")


def run_all(worker: Session, queue: str = "q") -> list[int]:
    """Claims and completes one job after the other until nothing is handed out."""
    ran: list[int] = []
    while claimed := worker.claim(queue, 1):
        assert worker.complete(claimed) == ["ok"]
        ran += claimed
    return ran


def fail_next(worker: Session) -> int:
    ((job, token),) = worker.claim("q", 1).items()
    assert worker.one("select pgbaton.fail_job(%s, 'no', %s)", job, token) == "failed"
    return job


# Who ends first, and how the producer's transaction ends.
ENDINGS = [
    ("producer", "commit"),
    ("producer", "rollback"),
    ("completer", "commit"),
    ("completer", "rollback"),
]


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize(("first", "producer_end"), ENDINGS)
@pytest.mark.parametrize("completer_end", ["commit", "rollback"])
@pytest.mark.parametrize("bulk", [False, True])
def test_f21_enqueue_sees_the_key_busy_while_the_holder_finishes(
    db: Session,
    open_session: Open,
    sound: Sound,
    first: str,
    producer_end: str,
    completer_end: str,
    bulk: bool,
) -> None:
    holder = db.enqueue("q", HOT)
    claimed = db.claim("q")
    producer, completer, worker = open_session(), open_session(), open_session()
    completer.never_waits()
    worker.never_waits()

    producer.begin()
    if bulk:
        (following,) = producer.enqueue_batch("q", 1, [HOT])
    else:
        following = producer.enqueue("q", HOT)
    completer.begin()
    assert completer.complete(claimed) == ["ok"]
    assert worker.claim("q") == {}
    if first == "producer":
        producer.end(producer_end)
        assert worker.claim("q") == {}
        completer.end(completer_end)
    else:
        completer.end(completer_end)
        assert worker.claim("q") == {}
        producer.end(producer_end)
    sound()

    if completer_end == "rollback":
        assert worker.complete(claimed) == ["ok"]
    committed = [following] if producer_end == "commit" else []
    assert run_all(worker) == committed
    later = worker.enqueue("q", HOT)
    assert run_all(worker) == [later]
    assert db.rows("select * from pgbaton.baton_release") == []
    assert holder not in db.claim("q")
    sound()


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize("producer_end", ["commit", "rollback"])
@pytest.mark.parametrize("completer_end", ["commit", "rollback"])
@pytest.mark.parametrize("producer_ends_first", [True, False])
def test_f21_producer_does_not_wait_for_a_completer_that_left_its_key_idle(
    db: Session,
    open_session: Open,
    sound: Sound,
    producer_end: str,
    completer_end: str,
    producer_ends_first: bool,
) -> None:
    first = db.enqueue("q", HOT)
    claimed = db.claim("q")
    completer, producer = open_session(), open_session()
    completer.begin()
    assert completer.complete(claimed) == ["ok"]
    producer.begin()
    producer.never_waits()
    job = producer.enqueue("q", HOT)
    ends = [(producer, producer_end), (completer, completer_end)]
    handed_out = []
    for session, end in ends if producer_ends_first else reversed(ends):
        session.end(end)
        handed_out.append(db.claim("q"))  # decides nothing that the other end could still change
        sound()
    if completer_end == "rollback":
        handed_out.append(claimed)
    ran = [job for jobs in handed_out if jobs and db.complete(jobs) == ["ok"] for job in jobs]
    ran += run_all(db)
    expected = [first] if completer_end == "rollback" else []
    assert ran == expected + ([job] if producer_end == "commit" else [])
    assert db.rows("select * from pgbaton.baton_release") == []


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize("way_out", ["complete", "skip", "delete", "cancel retry"])
def test_f21_whoever_lets_the_baton_go_does_not_wait_for_a_producer(
    db: Session, open_session: Open, sound: Sound, way_out: str
) -> None:
    job = db.enqueue("q", HOT)
    ((_, token),) = db.claim("q").items()
    if way_out in ("skip", "delete"):
        db.rows("select pgbaton.fail_job(%s, 'no', %s, retryable => false)", job, token)
    elif way_out == "cancel retry":
        db.rows("select pgbaton.fail_job(%s, 'no', %s, retry_in => '1 hour')", job, token)
    producer = open_session()
    producer.begin()
    following = producer.enqueue("q", HOT)
    db.never_waits()
    db.rows(
        {
            "complete": "select pgbaton.complete_job(%(job)s, null, %(token)s)",
            "skip": "select pgbaton.skip_job('q', %(job)s)",
            "delete": "select pgbaton.delete_job('q', %(job)s)",
            "cancel retry": "select pgbaton.delete_job('q', %(job)s)",
        }[way_out],
        job=job,
        token=token,
    )
    producer.commit()
    sound()
    assert run_all(db) == [following]
    sound()


@pytest.mark.usefixtures("fifo")
def test_the_backlog_of_a_hot_key_flows_while_a_producer_of_it_is_open(
    db: Session, open_session: Open, sound: Sound
) -> None:
    backlog = [db.enqueue("q", HOT) for _ in range(30)]
    producer, worker = open_session(), open_session()
    producer.begin()
    late = producer.enqueue("q", HOT)
    worker.never_waits()
    assert run_all(worker) == backlog
    producer.commit()
    sound()
    assert run_all(worker) == [late]
    sound()


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize("producer_end", ["commit", "rollback"])
def test_a_bulk_producer_that_holds_all_stripes_stops_no_worker(
    db: Session, open_session: Open, sound: Sound, producer_end: str
) -> None:
    keys = [f"key {n}" for n in range(3000)]
    old = [db.enqueue_batch("q", 50, keys[:50]) for _ in range(3)]
    producer, worker = open_session(), open_session()
    producer.begin()
    new = producer.enqueue_batch("q", len(keys), keys)
    stripes = db.one(
        "select count(*) from pg_locks where locktype = 'advisory' and pid = %s"
        " and classid = pgbaton._lock_class()::oid",
        producer.pid,
    )
    assert stripes == 256

    worker.never_waits()
    ran: list[int] = []
    while claimed := worker.claim("q", 100):
        assert set(worker.complete(claimed)) == {"ok"}
        ran += claimed
    assert ran == [job for batch in old for job in batch]
    producer.end(producer_end)
    sound()

    ran.clear()
    while claimed := worker.claim("q", 1000):
        assert set(worker.complete(claimed)) == {"ok"}
        ran += claimed
    assert sorted(ran) == (new if producer_end == "commit" else [])
    assert db.rows("select * from pgbaton.baton_release") == []
    sound()


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize("claimer_end", ["commit", "rollback"])
def test_f02_a_locked_head_does_not_let_the_second_job_pass(
    db: Session, open_session: Open, sound: Sound, claimer_end: str
) -> None:
    jobs = [db.enqueue("q", HOT) for _ in range(3)]
    other = db.enqueue("q", "other")
    one, two = open_session(), open_session()
    one.begin()
    assert list(one.claim("q", 1)) == [jobs[0]]
    assert list(two.claim("q", 10)) == [other]
    one.end(claimer_end)
    sound()
    assert list(two.claim("q", 10)) == ([] if claimer_end == "commit" else [jobs[0]])


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize("operator_end", ["commit", "rollback"])
def test_f02_a_head_that_an_operator_is_deleting_does_not_let_the_second_job_pass(
    db: Session, open_session: Open, sound: Sound, operator_end: str
) -> None:
    """The completer finds the head locked and leaves a release row."""
    holder, head, second = (db.enqueue("q", HOT) for _ in range(3))
    claimed = db.claim("q")
    assert list(claimed) == [holder]
    operator, worker = open_session(), open_session()
    worker.never_waits()
    operator.begin()
    operator.rows("select pgbaton.delete_job('q', %s)", head)
    assert worker.complete(claimed) == ["ok"]
    assert worker.claim("q") == {}
    assert worker.claim("q") == {}
    operator.end(operator_end)
    sound()
    assert run_all(worker) == ([second] if operator_end == "commit" else [head, second])
    sound()


@pytest.mark.usefixtures("fifo")
def test_f03_f04_many_claims_at_once_get_at_most_one_job_of_a_key(
    db: Session, open_session: Open, sound: Sound
) -> None:
    keys = [f"key {n % 10}" for n in range(100)]
    db.enqueue_batch("q", len(keys), keys)
    workers = [open_session() for _ in range(5)]
    calls = [
        worker.start("select singleton_key from pgbaton.claim_job_batch(%s, batch_size => 4)", "w")
        for worker in workers
    ]
    got = [row[0] for call in calls for row in call.rows()]
    got += [row[0] for row in db.rows("select singleton_key from pgbaton.claim_job_batch('w')")]
    assert sorted(got) == sorted(set(keys))
    sound()


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize("bulk", [False, True])
@pytest.mark.parametrize("first_end", ["commit", "rollback"])
def test_f07_two_producers_of_a_key_commit_in_the_order_in_which_their_jobs_run(
    db: Session, open_session: Open, sound: Sound, bulk: bool, first_end: str
) -> None:
    first, second = open_session(), open_session()
    second.one("select nextval('pgbaton.job_id_seq')")  # so that its ids are the lower ones
    first.begin()
    early = first.enqueue_batch("q", 2, [HOT, HOT]) if bulk else [first.enqueue("q", HOT)]
    waiting = second.start("select pgbaton.enqueue_job('q', singleton_key => 'hot')")
    waiting.until_blocked(first)
    early += [first.enqueue("q", HOT)]
    first.end(first_end)
    late = waiting.one()
    assert late < min(early)
    sound()
    assert run_all(db) == ([*early, late] if first_end == "commit" else [late])


@pytest.mark.usefixtures("fifo")
def test_two_claims_pass_on_the_releases_of_the_same_key(
    db: Session, open_session: Open, sound: Sound
) -> None:
    db.enqueue("q", HOT)
    claimed = db.claim("q")
    producer, one, two = open_session(), open_session(), open_session()
    producer.begin()
    jobs = [producer.enqueue("q", HOT), producer.enqueue("q", HOT)]
    assert db.complete(claimed) == ["ok"]
    # A second row for the same key, as two completions or a repair may leave it.
    db.rows("insert into pgbaton.baton_release (queue_id, singleton_key) values (1, 'hot')")
    assert db.one("select count(*) from pgbaton.baton_release") == 2
    producer.commit()

    # One of them is locked while the first claim looks, so that each claim has a row of its own.
    db.begin()
    db.rows("select from pgbaton.baton_release order by id limit 1 for update")
    one.begin()
    assert list(one.claim("q")) == jobs[:1]
    db.rollback()
    two.never_waits()
    two.begin()
    assert two.claim("q") == {}
    two.commit()
    one.commit()
    sound()
    assert db.claim("q") == {}
    assert db.rows("select * from pgbaton.baton_release") == []


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize("claimer_end", ["commit", "rollback"])
def test_a_claim_that_passed_a_released_baton_and_is_rolled_back_loses_nothing(
    db: Session, open_session: Open, sound: Sound, claimer_end: str
) -> None:
    db.enqueue("q", HOT)
    claimed = db.claim("q")
    producer, claimer = open_session(), open_session()
    producer.begin()
    job = producer.enqueue("q", HOT)
    assert db.complete(claimed) == ["ok"]
    producer.commit()
    claimer.begin()
    passed = claimer.claim("q")
    assert list(passed) == [job]
    claimer.end(claimer_end)
    sound()
    if claimer_end == "rollback":
        passed = db.claim("q")
    assert db.complete(passed) == ["ok"]
    assert db.claim("q") == {}
    assert db.rows("select * from pgbaton.baton_release") == []


@pytest.mark.usefixtures("continuing")
@pytest.mark.parametrize("completer_end", ["commit", "rollback"])
@pytest.mark.parametrize("has_sibling", [False, True])
def test_retry_job_of_a_key_that_went_on_while_its_holder_finishes(
    db: Session, open_session: Open, sound: Sound, completer_end: str, has_sibling: bool
) -> None:
    """F21 again: retry_job sees the key busy, the completer sees nobody waiting."""
    failed, holder = db.enqueue("q", HOT), db.enqueue("q", HOT)
    sibling = [db.enqueue("q", HOT)] if has_sibling else []
    assert fail_next(db) == failed
    claimed = db.claim("q")
    assert list(claimed) == [holder]
    completer, operator, worker = open_session(), open_session(), open_session()
    completer.never_waits()
    worker.never_waits()

    completer.begin()
    assert completer.complete(claimed) == ["ok"]
    retry = operator.start("select pgbaton.retry_job('q', %s)", failed).until_settled()
    assert worker.claim("q") == {}
    completer.end(completer_end)
    retry.rows()
    sound()
    if completer_end == "rollback":
        assert worker.complete(claimed) == ["ok"]
        assert run_all(worker) == [failed, *sibling]
    else:
        assert run_all(worker) == [*sibling, failed]
    sound()


@pytest.mark.usefixtures("continuing")
@pytest.mark.parametrize("operator_end", ["commit", "rollback"])
def test_a_completer_does_not_wait_for_an_open_retry_job_of_its_key(
    db: Session, open_session: Open, sound: Sound, operator_end: str
) -> None:
    failed, holder = db.enqueue("q", HOT), db.enqueue("q", HOT)
    assert fail_next(db) == failed
    claimed = db.claim("q")
    assert list(claimed) == [holder]
    operator, worker = open_session(), open_session()
    worker.never_waits()
    operator.begin()
    operator.rows("select pgbaton.retry_job('q', %s)", failed)
    assert worker.complete(claimed) == ["ok"]
    assert worker.claim("q") == {}
    operator.end(operator_end)
    sound()
    assert run_all(worker) == ([failed] if operator_end == "commit" else [])
    sound()


@pytest.mark.usefixtures("continuing")
@pytest.mark.parametrize("claimer_end", ["commit", "rollback"])
def test_two_retried_jobs_of_an_idle_key_and_two_claims(
    db: Session, open_session: Open, sound: Sound, claimer_end: str
) -> None:
    """The earlier of two failed jobs is retried while a claim hands out the later one."""
    jobs = [db.enqueue("q", HOT), db.enqueue("q", HOT)]
    assert [fail_next(db), fail_next(db)] == jobs
    one, two, operator = open_session(), open_session(), open_session()
    two.never_waits()
    db.rows("select pgbaton.retry_job('q', %s)", jobs[1])
    one.begin()
    claimed = one.claim("q")
    assert list(claimed) == [jobs[1]]
    retry = operator.start("select pgbaton.retry_job('q', %s)", jobs[0]).until_settled()
    assert two.claim("q") == {}
    one.end(claimer_end)
    retry.rows()
    sound()
    if claimer_end == "commit":
        assert two.claim("q") == {}
        assert two.complete(claimed) == ["ok"]
    assert run_all(two) == (jobs[:1] if claimer_end == "commit" else jobs[::-1])
    sound()


@pytest.mark.usefixtures("continuing")
def test_retry_job_on_a_key_whose_holder_runs(db: Session, sound: Sound) -> None:
    failed, holder, sibling = (db.enqueue("q", HOT) for _ in range(3))
    assert fail_next(db) == failed
    claimed = db.claim("q")
    assert list(claimed) == [holder]
    db.rows("select pgbaton.retry_job('q', %s)", failed)
    sound()
    assert db.claim("q") == {}
    assert db.complete(claimed) == ["ok"]
    sound()
    assert run_all(db) == [failed, sibling]
    assert db.rows("select * from pgbaton.baton_release") == []


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize(
    "have_siblings",
    [
        True,
        False,
    ],
)
def test_two_sessions_that_finish_and_enqueue_in_opposite_order_do_not_deadlock(
    db: Session, open_session: Open, sound: Sound, have_siblings: bool
) -> None:
    """One completes a and then enqueues b, the other b and then a, each in one transaction."""
    db.enqueue_batch("q", 2, ["a", "b"])
    claimed = db.claim("q", 2)
    a, b = ({job: token} for job, token in claimed.items())
    if have_siblings:
        db.enqueue_batch("q", 2, ["a", "b"])
    first, second = open_session(), open_session()
    first.begin()
    second.begin()
    assert first.complete(a) == ["ok"]
    assert second.complete(b) == ["ok"]
    calls = [
        session.start("select pgbaton.enqueue_job('q', singleton_key => %s)", key)
        for session, key in ((first, "b"), (second, "a"))
    ]
    assert [call.refusal() for call in calls] == [None, None]
    first.commit()
    second.commit()
    sound()
    assert len(run_all(db)) == (4 if have_siblings else 2)
    sound()


@pytest.mark.usefixtures("fifo")
def test_two_sessions_that_complete_the_same_jobs_in_opposite_order_do_not_deadlock(
    db: Session, open_session: Open, sound: Sound
) -> None:
    keys = [f"key {n}" for n in range(40)]
    db.enqueue_batch("q", 40, keys)
    claimed = db.claim("q", 40)
    jobs = sorted(claimed)
    gate, first, second = open_session(), open_session(), open_session()
    gate.begin()
    gate.rows("select from pgbaton.span where lo = %s for update", jobs[20])
    calls = [
        session.start("select verdict from pgbaton.complete_jobs(%s, %s)", order, claimed[jobs[0]])
        for session, order in ((first, jobs), (second, jobs[::-1]))
    ]
    for call in calls:
        call.until_blocked()
    gate.rollback()
    verdicts = [{row[0] for row in call.rows()} for call in calls]
    assert sorted(verdicts, key=str) == [{"invalid_state"}, {"ok"}]
    sound()


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize("gate_end", ["commit", "rollback"])
def test_two_bulk_producers_with_the_same_keys_in_opposite_order_do_not_deadlock(
    db: Session, open_session: Open, sound: Sound, gate_end: str
) -> None:
    keys = [f"key {n}" for n in range(300)]
    gate, first, second = open_session(), open_session(), open_session()
    gate.begin()
    gate.enqueue("q", keys[150])
    calls = [
        session.start(
            "select pgbaton.enqueue_batch('q', array_fill('{}'::jsonb, array[300]), %s)", k
        )
        for session, k in ((first, keys), (second, keys[::-1]))
    ]
    calls[0].until_blocked()
    calls[1].until_blocked()
    gate.end(gate_end)
    assert [len(call.rows()) for call in calls] == [300, 300]
    sound()
    # Of each key one. Whoever locks a key as another lets it go may leave that to the next claim.
    assert len(db.claim("q", 600)) == 300


@pytest.mark.usefixtures("fifo")
def test_recovery_keeps_the_key_while_a_producer_and_a_claim_look(
    db: Session, open_session: Open, sound: Sound, clock: Clock
) -> None:
    """F16: there is no gap between taking the job from a dead worker and giving it to the next."""
    holder, sibling = db.enqueue("q", HOT), db.enqueue("q", HOT)
    lost = db.claim("q", 1, "1 minute")
    clock.advance("2 minutes")
    recoverer, producer, worker = open_session(), open_session(), open_session()
    recoverer.begin()
    assert recoverer.one("select pgbaton.recover_stale_jobs()") == 1
    worker.never_waits()
    producer.never_waits()
    late = producer.enqueue("q", HOT)
    assert worker.claim("q") == {}
    recoverer.commit()
    sound()
    again = worker.claim("q")
    assert list(again) == [holder]
    assert db.complete(lost) == ["lease_lost"]
    assert worker.complete(again) == ["ok"]
    assert run_all(worker) == [sibling, late]
    sound()


CANCEL: LiteralString = "select cancelled_job_ids from pgbaton.cancel_jobs(job_ids => %s)"


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize("canceller_end", ["commit", "rollback"])
@pytest.mark.parametrize("place", [1, 3, 11])
def test_a_baton_is_let_go_while_a_job_of_the_waiting_span_is_cancelled(
    db: Session, open_session: Open, sound: Sound, canceller_end: str, place: int
) -> None:
    """Whoever lets go finds the span locked, waits for nobody and leaves the key to a claim."""
    jobs = db.enqueue_batch("q", 12, [HOT] * 12)
    claimed = db.claim("q")
    canceller, completer, worker = open_session(), open_session(), open_session()
    completer.never_waits()
    worker.never_waits()
    canceller.begin()
    assert canceller.one(CANCEL, [jobs[place]]) == [jobs[place]]
    assert completer.complete(claimed) == ["ok"]
    assert db.one("select count(*) from pgbaton.baton_release") == 1
    assert worker.claim("q") == {}
    canceller.end(canceller_end)
    sound()
    gone = jobs[place] if canceller_end == "commit" else None
    assert run_all(worker) == [job for job in jobs[1:] if job != gone]
    assert db.rows("select * from pgbaton.baton_release") == []
    sound()


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize("completer_end", ["commit", "rollback"])
@pytest.mark.parametrize("place", [1, 3, 11])
def test_a_job_of_a_waiting_span_is_cancelled_while_the_baton_goes_to_its_first(
    db: Session, open_session: Open, sound: Sound, completer_end: str, place: int
) -> None:
    """Whoever cancels waits for the span that is being split, and finds the job where it went."""
    jobs = db.enqueue_batch("q", 12, [HOT] * 12)
    claimed = db.claim("q")
    canceller, completer, worker = open_session(), open_session(), open_session()
    worker.never_waits()
    completer.begin()
    assert completer.complete(claimed) == ["ok"]
    cancelling = canceller.start(CANCEL, [jobs[place]]).until_blocked(completer)
    assert worker.claim("q") == {}
    completer.end(completer_end)
    assert cancelling.one() == [jobs[place]]
    sound()
    if completer_end == "rollback":
        assert worker.complete(claimed) == ["ok"]
    assert run_all(worker) == [job for job in jobs[1:] if job != jobs[place]]
    assert db.rows("select * from pgbaton.baton_release") == []
    sound()


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize("first_end", ["commit", "rollback"])
@pytest.mark.parametrize(("one", "other"), [(1, 2), (2, 1), (3, 9), (9, 3), (11, 1)])
def test_two_sessions_cancel_jobs_of_one_waiting_span(
    db: Session, open_session: Open, sound: Sound, first_end: str, one: int, other: int
) -> None:
    jobs = db.enqueue_batch("q", 12, [HOT] * 12)
    first, second = open_session(), open_session()
    first.begin()
    assert first.one(CANCEL, [jobs[one]]) == [jobs[one]]
    cancelling = second.start(CANCEL, [jobs[other]]).until_blocked(first)
    first.end(first_end)
    assert cancelling.one() == [jobs[other]]
    sound()
    gone = {jobs[other], jobs[one]} if first_end == "commit" else {jobs[other]}
    assert run_all(db) == [job for job in jobs if job not in gone]
    sound()


@pytest.mark.usefixtures("fifo")
@pytest.mark.parametrize(("first", "producer_end"), ENDINGS)
def test_a_batch_of_neighbours_is_enqueued_while_the_holder_finishes(
    db: Session, open_session: Open, sound: Sound, first: str, producer_end: str
) -> None:
    db.enqueue("q", HOT)
    claimed = db.claim("q")
    producer, completer = open_session(), open_session()
    completer.never_waits()
    producer.begin()
    following = producer.enqueue_batch("q", 5, [HOT] * 5)
    completer.begin()
    assert completer.complete(claimed) == ["ok"]
    for session in (producer, completer) if first == "producer" else (completer, producer):
        session.end(producer_end if session is producer else "commit")
        assert set(db.claim("q")) <= set(following[:1])
        sound()
    held = db.rows("select lo, lease_token from pgbaton.span where state = 'active'")
    assert held == [] or db.complete(dict(held)) == ["ok"]
    ran = [job for job, _ in held] + run_all(db)
    assert ran == (following if producer_end == "commit" else [])
    assert db.rows("select * from pgbaton.baton_release") == []
    sound()


@pytest.mark.parametrize("how", ["commit", "rollback"])
@pytest.mark.parametrize("who_waits", ["fail_job", "retry_job"])
def test_of_two_that_want_to_be_retried_one_stands_there(
    db: Session, open_session: Open, sound: Sound, who_waits: str, how: str
) -> None:
    """Of stately one job of a key waits for its retry; neither call sees the other one."""
    db.rows("select pgbaton.create_queue('q', 'stately', max_attempts => 5)")
    failed = db.enqueue("q", HOT)
    db.rows("select pgbaton.fail_job(%s, 'no', %s, false)", failed, db.claim("q")[failed])
    running = db.enqueue("q", HOT)
    ((_, token),) = db.claim("q").items()
    calls: dict[str, tuple[LiteralString, Any]] = {
        "fail_job": ("select pgbaton.fail_job(%s, 'no', %s)", (running, token)),
        "retry_job": ("select pgbaton.retry_job('q', %s)", (failed,)),
    }
    waiting_call, waiting_args = calls.pop(who_waits)
    ((call, args),) = calls.values()
    first = open_session()
    first.begin()
    first.rows(call, *args)
    second = open_session().start(waiting_call, *waiting_args).until_blocked(first)
    first.end(how)
    if who_waits == "fail_job":
        assert second.one() == ("failed" if how == "commit" else "retry")
    else:
        assert second.refusal() == ("PB006" if how == "commit" else None)
    sound()
    state = "select (pgbaton.get_job(%s)).state::text"
    assert (db.one(state, failed), db.one(state, running)) == {
        ("fail_job", "commit"): ("retry", "failed"),
        ("fail_job", "rollback"): ("failed", "retry"),
        ("retry_job", "commit"): ("failed", "retry"),
        ("retry_job", "rollback"): ("waiting", "active"),
    }[who_waits, how]
