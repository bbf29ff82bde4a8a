"""Batch: calls for many jobs answer job by job, and one bad row never spoils the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sessions import Session

Sound = Callable[[], None]

COMPLETE = "select verdict from pgbaton.complete_jobs(%s, %s) order by ordinal"
FAIL = (
    "select verdict from pgbaton.fail_jobs(%s, array_fill('no'::text, array[%s]), %s)"
    " order by ordinal"
)
# Each takes ids and a token; what they do to a job differs.
CALLS = {
    "complete_jobs": COMPLETE,
    "start_jobs": "select verdict from pgbaton.start_jobs(%s, %s) order by ordinal",
    "extend_leases": "select verdict from pgbaton.extend_leases(%s, %s) order by ordinal",
    "release_jobs": "select verdict from pgbaton.release_jobs(%s, %s) order by ordinal",
}


@pytest.fixture(params=["bulk", "one by one", "keyed"])
def jobs(request: pytest.FixtureRequest, db: Session) -> list[int]:
    """Ten jobs of queue q, in one span or in many."""
    db.rows(
        "select pgbaton.create_queue('q', %s::text::pgbaton.queue_policy)",
        "fifo" if request.param == "keyed" else "standard",
    )
    if request.param == "one by one":
        return [db.enqueue("q") for _ in range(10)]
    keys = [f"key {n}" for n in range(10)] if request.param == "keyed" else None
    return db.enqueue_batch("q", 10, keys)


def verdicts(db: Session, query: str, *args: object) -> list[str]:
    return [row[0] for row in db.conn.execute(query, args).fetchall()]


def test_partial_success(jobs: list[int], db: Session, sound: Sound) -> None:
    claimed = db.claim("q", 5)
    token = claimed[jobs[0]]
    assert verdicts(db, COMPLETE, [jobs[1]], token) == ["ok"]
    unknown = 9_000_000
    asked = [jobs[0], jobs[1], jobs[7], unknown, -1, jobs[4]]
    assert verdicts(db, COMPLETE, asked, token) == [
        "ok",
        "invalid_state",
        "lease_lost",
        "not_found",
        "not_found",
        "ok",
    ]
    states = db.rows("select state::text from pgbaton.jobs order by id")
    done = (0, 1, 4)
    assert [state for (state,) in states] == [
        "completed" if n in done else "active" if n < 5 else "pending" for n in range(10)
    ]
    sound()


def test_duplicate_ids_in_one_call(jobs: list[int], db: Session, sound: Sound) -> None:
    token = db.claim("q", 10)[jobs[0]]
    asked = [jobs[3], jobs[2], jobs[3], jobs[3]]
    first, second, *again = verdicts(db, COMPLETE, asked, token)
    assert (first, second) == ("ok", "ok")
    assert again == ["invalid_state"] * 2
    assert verdicts(db, FAIL, [jobs[5]] * 2, 2, token)[0] == "ok"
    assert db.rows("select job_id from pgbaton.job_error") == [(jobs[5],)]
    assert db.one("select count(*) from pgbaton.finished_jobs") == 2
    sound()


@pytest.mark.parametrize("call", CALLS)
def test_mixed_owners(jobs: list[int], db: Session, sound: Sound, call: str) -> None:
    mine, theirs = db.claim("q", 5), db.claim("q", 3)
    before = db.rows(
        "select lo, hi, lease_token, lease_until from pgbaton.span where lease_token = %s",
        theirs[jobs[5]],
    )
    asked = [job for pair in zip(jobs[:5], jobs[5:], strict=True) for job in pair]
    assert verdicts(db, CALLS[call], asked, mine[jobs[0]]) == ["ok", "lease_lost"] * 5
    assert before == db.rows(
        "select lo, hi, lease_token, lease_until from pgbaton.span where lease_token = %s",
        theirs[jobs[5]],
    )
    sound()


def test_empty_and_null_arrays(jobs: list[int], db: Session, sound: Sound) -> None:
    token = db.claim("q", 10)[jobs[0]]
    before = db.rows("select * from pgbaton.span order by lo")
    for query in CALLS.values():
        assert verdicts(db, query, [], token) == []
        for bad in (None, [jobs[0], None]):
            assert db.refusal(query, bad, token) == "22004"
    assert db.rows("select * from pgbaton.fail_jobs('{}', '{}', %s)", token) == []
    assert db.refusal("select * from pgbaton.fail_jobs(null, null, %s)", token) == "22004"
    assert db.rows("select * from pgbaton.enqueue_batch('q', '{}')") == []
    assert db.refusal("select * from pgbaton.enqueue_batch('q', null)") == "22004"
    assert db.rows("select * from pgbaton.enqueue_jobs('q', '[]')") == []
    assert db.rows("select * from pgbaton.cancel_jobs(job_ids => '{}')") == [([], [])]
    assert db.rows("select * from pgbaton.span order by lo") == before
    sound()


MANY = 100_000


@pytest.mark.timeout(900)
@pytest.mark.parametrize("policy", ["standard", pytest.param("fifo", marks=pytest.mark.proof)])
def test_100_000_rows_in_one_call(db: Session, policy: str) -> None:
    """Each within the time that a session gives a statement: whatever compares each row with each
    other one takes minutes."""
    db.rows(
        "select pgbaton.create_queue('q', %s::text::pgbaton.queue_policy, max_attempts => null,"
        " retry_delay => '0', retry_backoff => false)",
        policy,
    )
    db.rows(
        "select count(*) from pgbaton.enqueue_batch('q', array_fill('{}'::jsonb, array[%s]),"
        " (select array_agg(n::text order by n) from generate_series(1, %s) as n where %s))",
        MANY,
        MANY,
        policy != "standard",
    )

    def claim() -> tuple[list[int], int]:
        claimed = db.rows(
            "select id, lease_token from pgbaton.claim_job_batch('w', batch_size => %s)", MANY
        )
        assert len({job for job, _ in claimed}) == MANY
        return [job for job, _ in claimed], claimed[0][1]

    def all_are_ok(query: str, *arguments: object) -> None:
        found = verdicts(db, query, *arguments)
        assert (len(found), set(found)) == (MANY, {"ok"})

    ids, token = claim()
    for call in ("start_jobs", "extend_leases", "release_jobs"):
        all_are_ok(CALLS[call], ids, token)
    ids, token = claim()
    all_are_ok(FAIL, ids, MANY, token)
    ids, token = claim()
    done, stopped = ids[::2], ids[1::2]
    ended = verdicts(
        db,
        "select verdict from pgbaton.complete_jobs(%s, %s, array_fill('1'::jsonb, array[%s]))",
        done,
        token,
        len(done),
    )
    assert set(ended) == {"ok"}
    cancelled, _ = db.rows("select * from pgbaton.cancel_jobs(job_ids => %s)", stopped)[0]
    assert len(cancelled) == len(stopped)
    assert set(verdicts(db, COMPLETE, stopped, token)) == {"ok"}
    assert db.rows("select * from pgbaton.live_jobs limit 1") == []
    assert db.one("select pgbaton.delete_jobs(job_ids => %s)", ids) == MANY
