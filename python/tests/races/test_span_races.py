"""A span splits, merges, moves or ends while another session waits for one of its jobs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sessions import Session

JOBS = 20
OURS = 7  # the job of the waiting call, somewhere in the middle of its span

Open = Callable[[], Session]

# What the waiting session calls for its job, and what it says when nothing is against it.
WORKER_CALLS = {
    "complete_job": ("select coalesce(pgbaton.complete_job(%(job)s, null, %(token)s)::text, 'ok')"),
    "complete_jobs": "select verdict from pgbaton.complete_jobs(array[%(job)s], %(token)s)",
    "fail_job": "select pgbaton.fail_job(%(job)s, 'no', %(token)s, false)::text",
    "fail_jobs": "select verdict from pgbaton.fail_jobs(array[%(job)s], array['no'], %(token)s)",
    "report_progress": "select pgbaton.report_progress(%(job)s, %(token)s, 50)",
    "extend_leases": "select verdict from pgbaton.extend_leases(array[%(job)s], %(token)s)",
    "start_jobs": "select verdict from pgbaton.start_jobs(array[%(job)s], %(token)s)",
    "release_jobs": "select verdict from pgbaton.release_jobs(array[%(job)s], %(token)s)",
}
# State of the job afterwards.
STATE_AFTER = {
    "complete_job": "completed",
    "complete_jobs": "completed",
    "fail_job": "failed",
    "fail_jobs": "retry",
    "report_progress": "active",
    "extend_leases": "active",
    "start_jobs": "active",
    "release_jobs": "retry",
}

# What another session does to the span meanwhile; the ids are those of one span.
SPLITS = {
    "a neighbour is completed": (
        "select pgbaton.complete_jobs(array[%(left)s], %(token)s)",
        {"left": "completed"},
    ),
    "both neighbours are failed": (
        "select pgbaton.fail_jobs(array[%(left)s, %(right)s], array['a', 'b'], %(token)s, false)",
        {"left": "failed", "right": "failed"},
    ),
    "the others are released": (
        "select pgbaton.release_jobs(%(others)s, %(token)s, '1 hour')",
        {"others": "retry"},
    ),
    "a neighbour's lease is extended": (
        "select pgbaton.extend_leases(array[%(right)s], %(token)s)",
        {},
    ),
    "its own lease is extended": (
        "select pgbaton.extend_leases(array[%(job)s], %(token)s)",
        {},
    ),
    "all are started": ("select pgbaton.start_jobs(%(all)s, %(token)s)", {}),
}
LOSSES = {
    "it is completed": "select pgbaton.complete_jobs(array[%(job)s], %(token)s)",
    "the claim is completed": "select pgbaton.complete_claim(%(token)s)",
    "it is released": "select pgbaton.release_jobs(array[%(job)s], %(token)s, '1 hour')",
    "it is failed": "select pgbaton.fail_job(%(job)s, 'mine', %(token)s, false)",
    "its worker is given up": "select pgbaton.mark_worker_unresponsive(%(worker)s)",
    "its worker is given up and it is claimed again": """
        select count(*) from pgbaton.claim_job_batch(
            'next', array['mail'], batch_size => pgbaton.mark_worker_unresponsive(%(worker)s)
        )
    """,
}
# A job in history has no lease to lose.
ENDED = {"it is completed", "the claim is completed"}


class Claimed:
    """Twenty jobs in one active span, and the arguments of all calls above."""

    def __init__(self, db: Session) -> None:
        db.rows("select pgbaton.create_queue('mail')")
        ids = db.enqueue_batch("mail", JOBS)
        self.db = db
        self.ids = ids
        self.job = ids[OURS]
        claimed = db.claim("mail", JOBS)
        assert list(claimed) == ids
        assert db.one("select count(*) from pgbaton.span") == 1
        self.names: dict[str, list[int]] = {
            "left": [ids[OURS - 1]],
            "right": [ids[OURS + 1]],
            "others": [i for i in ids if i != self.job],
            "all": ids,
        }
        self.arguments = {
            "job": self.job,
            "token": claimed[self.job],
            "worker": f"worker {db.pid}",
            "left": ids[OURS - 1],
            "right": ids[OURS + 1],
            "others": self.names["others"],
            "all": ids,
        }

    def begin_change(self, changer: Session, change: str) -> int:
        """Does one of the above in an open transaction; how many jobs the claim holds after it."""
        changer.begin()
        changer.rows(SPLITS[change][0] if change in SPLITS else LOSSES[change], **self.arguments)
        return changer.one(
            "select coalesce(sum(hi - lo + 1), 0) from pgbaton.span where lease_token = %s",
            self.arguments["token"],
        )

    def states(self) -> dict[int, str]:
        return dict(self.db.rows("select id, state::text from pgbaton.jobs"))


@pytest.mark.parametrize("ending", ["commit", "rollback"])
@pytest.mark.parametrize("change", SPLITS)
@pytest.mark.parametrize("call", WORKER_CALLS)
def test_a_call_finds_its_job_after_its_span_was_split(
    db: Session, open_session: Open, sound: Callable[[], None], call: str, change: str, ending: str
) -> None:
    claimed = Claimed(db)
    query, changed = SPLITS[change]
    changer, caller = open_session(), open_session()
    changer.begin()
    changer.rows(query, **claimed.arguments)
    waiting = caller.start(WORKER_CALLS[call], **claimed.arguments).until_blocked(changer)
    changer.end(ending)

    assert waiting.one() in ("ok", "", "failed")
    expected = dict.fromkeys(claimed.ids, "active")
    if ending == "commit":
        for name, state in changed.items():
            expected |= dict.fromkeys(claimed.names[name], state)
    expected[claimed.job] = STATE_AFTER[call]
    assert claimed.states() == expected
    sound()


@pytest.mark.parametrize("change", LOSSES)
@pytest.mark.parametrize("call", WORKER_CALLS)
def test_a_call_whose_job_was_lost_meanwhile_changes_nothing(
    db: Session, open_session: Open, sound: Callable[[], None], call: str, change: str
) -> None:
    claimed = Claimed(db)
    changer, caller = open_session(), open_session()
    changer.begin()
    changer.rows(LOSSES[change], **claimed.arguments)
    waiting = caller.start(WORKER_CALLS[call], **claimed.arguments).until_blocked(changer)
    changer.commit()

    if call in ("complete_job", "fail_job", "report_progress"):
        assert waiting.refusal() == ("PB003" if change in ENDED else "PB004")
    else:
        assert waiting.one() == ("invalid_state" if change in ENDED else "lease_lost")
    after = claimed.states()
    assert len(after) == JOBS
    assert (
        after[claimed.job]
        == {
            "it is completed": "completed",
            "the claim is completed": "completed",
            "it is released": "retry",
            "it is failed": "failed",
            "its worker is given up": "unknown_retry",
            "its worker is given up and it is claimed again": "active",
        }[change]
    )
    assert db.rows("select from pgbaton.job_report where progress is not null") == []
    sound()


@pytest.mark.parametrize("change", [*SPLITS, *LOSSES])
def test_complete_claim_takes_what_is_left_of_its_spans(
    db: Session, open_session: Open, sound: Callable[[], None], change: str
) -> None:
    claimed = Claimed(db)
    changer, caller = open_session(), open_session()
    left = claimed.begin_change(changer, change)
    waiting = caller.start(
        "select pgbaton.complete_claim(%s)", claimed.arguments["token"]
    ).until_blocked(changer)
    changer.commit()

    assert waiting.one() == left
    assert len(claimed.states()) == JOBS
    assert (
        db.rows("select from pgbaton.span where lease_token = %s", claimed.arguments["token"]) == []
    )
    sound()


@pytest.mark.parametrize("ending", ["commit", "rollback"])
@pytest.mark.parametrize("change", [*SPLITS, *LOSSES])
def test_complete_jobs_of_a_claim_completes_what_is_left_of_its_spans(
    db: Session, open_session: Open, sound: Callable[[], None], change: str, ending: str
) -> None:
    claimed = Claimed(db)
    changer, caller = open_session(), open_session()
    left = claimed.begin_change(changer, change)
    waiting = caller.start(
        "select verdict from pgbaton.complete_jobs(%(all)s, %(token)s)", **claimed.arguments
    ).until_blocked(changer)
    changer.end(ending)

    verdicts = [row[0] for row in waiting.rows()]
    assert verdicts.count("ok") == (left if ending == "commit" else JOBS)
    states = list(claimed.states().values())
    assert states.count("completed") >= verdicts.count("ok")
    assert len(states) == JOBS
    sound()


def test_sessions_that_finish_jobs_of_a_span_at_the_same_time_wait_once(
    db: Session, open_session: Open, sound: Callable[[], None]
) -> None:
    claimed = Claimed(db)
    complete = "select pgbaton.complete_job(%s, null, %s)"
    token = claimed.arguments["token"]
    one, two, three = (open_session() for _ in range(3))
    one.begin()
    one.rows(complete, claimed.ids[3], token)
    assert db.one("select count(*) from pgbaton.span") == 1, (
        "who is alone splits as little as can be"
    )
    waiting = two.start(complete, claimed.ids[OURS], token).until_blocked(one)
    one.commit()
    waiting.rows()
    two.begin()
    two.rows(complete, claimed.ids[OURS + 1], token)
    three.never_waits()
    for job in claimed.ids[OURS + 2 :]:
        three.rows(complete, job, token)
    three.rows("select pgbaton.fail_job(%s, 'no', %s)", claimed.ids[OURS - 1], token)
    two.commit()
    db.rows("select pgbaton.complete_claim(%s)", token)
    done = dict.fromkeys(claimed.ids, "completed")
    assert claimed.states() == done | {claimed.ids[OURS - 1]: "retry"}
    sound()


@pytest.mark.parametrize(
    ("size", "state"), [(5, "deleted"), (OURS + 1, "refused"), (12, "refused"), (JOBS, "refused")]
)
def test_delete_job_while_a_claim_cuts_its_span(
    db: Session, open_session: Open, sound: Callable[[], None], size: int, state: str
) -> None:
    db.rows("select pgbaton.create_queue('mail')")
    ids = db.enqueue_batch("mail", JOBS)
    claimer, operator = open_session(), open_session()
    claimer.begin()
    assert list(claimer.claim("mail", size)) == ids[:size]
    waiting = operator.start("select pgbaton.delete_job('mail', %s)", ids[OURS]).until_blocked(
        claimer
    )
    claimer.commit()

    if state == "refused":
        assert waiting.refusal() == "PB003"
    else:
        waiting.rows()
    expected = dict.fromkeys(ids, "pending") | dict.fromkeys(ids[:size], "active")
    if state == "deleted":
        expected[ids[OURS]] = "unscheduled"
    assert dict(db.rows("select id, state::text from pgbaton.jobs")) == expected
    sound()


def test_a_claim_passes_by_a_span_that_an_operator_is_splitting(
    db: Session, open_session: Open, sound: Callable[[], None]
) -> None:
    db.rows("select pgbaton.create_queue('mail')")
    ids = db.enqueue_batch("mail", 130)  # three spans
    operator, worker = open_session(), open_session()
    operator.begin()
    operator.rows("select pgbaton.delete_job('mail', %s)", ids[3])
    worker.never_waits()
    assert list(worker.claim("mail", 200)) == ids[64:]
    operator.commit()
    assert list(worker.claim("mail", 200)) == [i for i in ids[:64] if i != ids[3]]
    sound()


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_a_cancellation_finds_its_job_in_a_merged_span(
    db: Session, open_session: Open, sound: Callable[[], None], ending: str
) -> None:
    """Jobs that were enqueued one by one become one span when they are claimed together."""
    db.rows("select pgbaton.create_queue('mail')")
    ids = [db.enqueue("mail") for _ in range(JOBS)]
    assert db.one("select count(*) from pgbaton.span") == JOBS

    claimer, operator = open_session(), open_session()
    claimer.begin()
    claimed = claimer.claim("mail", JOBS)
    assert list(claimed) == ids
    spans = claimer.one("select count(*) from pgbaton.span")
    assert spans <= 2  # a block of 64 ids may end among them
    waiting = operator.start(
        "select cancelled_job_ids from pgbaton.cancel_jobs(job_ids => %s)", [ids[OURS]]
    ).until_blocked(claimer)
    claimer.end(ending)
    assert waiting.one() == [ids[OURS]]

    states = ("active", "cancelling") if ending == "commit" else ("pending", "unscheduled")
    expected = dict.fromkeys(ids, states[0]) | {ids[OURS]: states[1]}
    assert dict(db.rows("select id, state::text from pgbaton.jobs")) == expected
    if ending == "commit":
        assert set(db.complete(claimed)) == {"ok"}
    sound()


@pytest.mark.parametrize("call", ["retry_job", "skip_job", "delete_job"])
@pytest.mark.parametrize("first", ["retry_job", "skip_job", "delete_job"])
@pytest.mark.parametrize("queue", ["block", "continue", "standard"])
def test_two_operators_and_one_failed_job(
    db: Session, open_session: Open, sound: Callable[[], None], first: str, call: str, queue: str
) -> None:
    """The first call decides; the second is refused, but for a deletion after a retry."""
    if queue == "standard":
        db.rows("select pgbaton.create_queue('mail', max_attempts => 1)")
    else:
        db.rows(
            "select pgbaton.create_fifo_queue('mail', max_attempts => 1, on_exhausted => %s::text"
            "::pgbaton.on_exhausted)",
            queue,
        )
    key = None if queue == "standard" else "k"
    job, sibling = db.enqueue("mail", key), db.enqueue("mail", key)
    claimed = db.claim("mail", 1)
    db.rows("select pgbaton.fail_job(%s, 'no', %s)", job, claimed[job])

    one, other = open_session(), open_session()
    one.begin()
    one.rows(f"select pgbaton.{first}('mail', %s)", job)
    waiting = other.start(f"select pgbaton.{call}('mail', %s)", job).until_blocked(one)
    one.commit()
    if (first, call) == ("retry_job", "delete_job"):
        waiting.rows()
    else:
        assert waiting.refusal() == "PB003"
    sound()

    retried = first == "retry_job" and call != "delete_job"
    ran = [next(iter(claimed)) for claimed in iter(lambda: drain_one(db), {})]
    # Only a blocking queue held the sibling back until the retry.
    in_order = [job, sibling] if queue == "block" else [sibling, job]
    assert ran == (in_order if retried else [sibling])
    sound()


def drain_one(db: Session) -> dict[int, int]:
    claimed = db.claim("mail", 1)
    assert set(db.complete(claimed)) <= {"ok"}
    return claimed


@pytest.mark.parametrize("call", ["claim", "complete"])
def test_a_queue_that_is_dropped_leaves_no_part_of_a_span_that_is_split_meanwhile(
    db: Session, open_session: Open, call: str
) -> None:
    worker, operator = open_session(), open_session()
    db.rows("select pgbaton.create_queue('gone')")
    jobs = db.enqueue_batch("gone", 5)
    claimed = db.claim("gone", 5) if call == "complete" else {}
    worker.begin()
    if call == "complete":
        assert worker.complete({jobs[2]: claimed[jobs[2]]}) == ["ok"]
    else:
        assert list(worker.claim("gone", 2)) == jobs[:2]
    dropping = operator.start("select pgbaton.drop_queue('gone', true)").until_blocked(worker)
    worker.commit()
    dropping.rows()
    assert db.rows("select lo, hi from pgbaton.span") == []
