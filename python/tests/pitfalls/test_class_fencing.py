"""Fencing: a call of a worker with a token that is not that of the job's claim changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sessions import Clock, Session

Sound = Callable[[], None]

CALLS = {
    "start_jobs": "select verdict from pgbaton.start_jobs(array[%(job)s], %(token)s)",
    "report_progress": "select pgbaton.report_progress(%(job)s, %(token)s, 50, 'half')",
    "extend_leases": "select verdict from pgbaton.extend_leases("
    "array[%(job)s], %(token)s, '1 hour')",
    "complete_job": "select pgbaton.complete_job(%(job)s, '1', %(token)s)",
    "complete_jobs": "select verdict from pgbaton.complete_jobs("
    "array[%(job)s], %(token)s, array['1'::jsonb])",
    "complete_and_claim": "select coalesce(max(verdict), 'ok') from pgbaton.complete_and_claim("
    "array[%(job)s], %(token)s, 'w', job_types => '{none}', results => array['1'::jsonb])",
    "complete_claim": "select pgbaton.complete_claim(%(token)s)",
    "fail_job": "select pgbaton.fail_job(%(job)s, 'no', %(token)s)",
    "fail_jobs": "select verdict from pgbaton.fail_jobs(array[%(job)s], array['no'], %(token)s)",
    "release_jobs": "select verdict from pgbaton.release_jobs(array[%(job)s], %(token)s)",
    "stop_job": "select pgbaton.stop_job(%(job)s, 'no', %(token)s)",
    "stop_job_with_retry": "select pgbaton.stop_job_with_retry(%(job)s, 'no', %(token)s)",
    "acknowledge_cancellation": "select pgbaton.acknowledge_cancellation(%(job)s, true, %(token)s)",
}
NEEDS_A_TOKEN = ("start_jobs", "report_progress", "extend_leases", "complete_claim", "release_jobs")


def everything(db: Session) -> list[list[tuple[object, ...]]]:
    return [
        db.rows("select * from pgbaton.span order by lo"),
        db.rows("select * from pgbaton.job_history order by lo"),
        db.rows("select * from pgbaton.job_report order by job_id"),
        db.rows("select * from pgbaton.job_error order by job_id"),
    ]


def answer(db: Session, call: str, job: int, token: int | None) -> object:
    asked = db.start(CALLS[call], job=job, token=token)
    return asked.refusal() or asked.one()


@pytest.mark.parametrize("policy", ["fifo", "standard"])
@pytest.mark.parametrize("call", CALLS)
def test_a_token_that_is_not_its_own(db: Session, clock: Clock, policy: str, call: str) -> None:
    db.rows("select pgbaton.create_queue('q', %s::text::pgbaton.queue_policy)", policy)
    job, other = db.enqueue("q", "a"), db.enqueue("q", "b")
    old = db.claim("q", 1, "1 minute")
    clock.advance("61 seconds")
    claimed = db.claim("q", 1)
    assert list(old) == list(claimed) == [job]
    tokens = {"old": old[job], "random": 987_654_321, "another job's": db.claim("q", 1)[other]}
    if call == "complete_claim":
        del tokens["another job's"]  # it names no job: it ends the other one
    if policy == "fifo" or call in NEEDS_A_TOKEN:
        tokens |= {"none": None}
    if call in ("acknowledge_cancellation", "stop_job_with_retry"):
        db.rows("select pgbaton.cancel_jobs(job_ids => array[%s::bigint])", job)

    before = everything(db)
    for kind, token in tokens.items():
        refused = {"lease_lost", "PB004", "22004" if kind == "none" else 0}
        assert answer(db, call, job, token) in refused, kind
        assert everything(db) == before, kind
    # And with its own token it is accepted.
    accepted = {"ok", 1, "", "retry"} if call != "report_progress" else {"ok"}
    assert answer(db, call, job, claimed[job]) in accepted
    assert everything(db) != before
