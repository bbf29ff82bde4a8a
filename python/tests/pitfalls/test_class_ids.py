"""Ids: sequences near the end of their 32 and 64 bits."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from calls import fail, run_all
from sessions import Session

Sound = Callable[[], None]
SEQUENCES = ("job_id_seq", "position_seq", "lease_token_seq")
BITS_32, BITS_64 = 2**31, 2**63


@pytest.fixture(params=["fifo", "standard"])
def key(request: pytest.FixtureRequest, db: Session) -> str | None:
    """The key of all jobs; queue q has either policy."""
    db.rows("select pgbaton.create_queue('q', %s::text::pgbaton.queue_policy)", request.param)
    return "k" if request.param == "fifo" else None


def start_at(db: Session, sequence: str, value: int) -> None:
    db.rows("select setval(%s, %s, false)", f"pgbaton.{sequence}", value)


@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize("end", [BITS_32, BITS_64 - 100_000])
def test_sequences_near_their_end(
    db: Session, key: str | None, sound: Sound, sequence: str, end: int
) -> None:
    """Across 2^31, and up to a hundred thousand before 2^63."""
    start_at(db, sequence, end - 10)
    jobs = [db.enqueue("q", key) for _ in range(6)]
    jobs += db.enqueue_batch("q", 12, [key] * 12 if key else None)
    claimed = db.claim("q", 1)
    assert fail(db, claimed, retry_in="0") == "retry"
    claimed = db.claim("q", 1)
    db.rows("select pgbaton.release_jobs(%s, %s)", list(claimed), next(iter(claimed.values())))
    db.rows("select pgbaton.cancel_jobs(job_ids => array[%s::bigint])", jobs.pop(7))
    sound()
    ran = run_all(db)
    assert sorted(ran) == sorted(jobs)
    if key:
        assert ran == jobs
    assert db.one("select (pgbaton.get_job(%s)).id", jobs[-1]) == jobs[-1]
    sound()
    last = db.one("select pg_sequence_last_value(%s)", f"pgbaton.{sequence}")
    assert last > end


def test_the_very_last_id(db: Session, key: str | None, sound: Sound) -> None:
    """A clear error in the call that finds none left, and the jobs before it run."""
    start_at(db, "job_id_seq", BITS_64 - 200)
    jobs: list[int] = []
    refusal = None
    while refusal is None:
        one = db.start("select pgbaton.enqueue_job('q', singleton_key => %s)", key)
        refusal = one.refusal()
        if refusal is None:
            jobs += [one.one()]
    assert refusal == "2200H"
    assert max(jobs) == BITS_64 - 1
    assert db.one("select status from pgbaton.health() where check_name = 'id headroom'") == "bad"
    sound()
    run_all(db) if key else db.complete(db.claim("q", 1000))
    assert db.rows("select * from pgbaton.live_jobs limit 1") == []
    sound()


def test_a_span_of_the_last_ids_is_split(db: Session, sound: Sound) -> None:
    db.rows("select pgbaton.create_queue('q')")
    start_at(db, "job_id_seq", BITS_64 - 200)
    start_at(db, "position_seq", BITS_64 - 100_000)
    jobs = db.enqueue_batch("q", 20)
    assert db.complete(db.claim("q", 5)) == ["ok"] * 5
    claimed = db.claim("q", 15)
    assert db.complete({jobs[9]: claimed[jobs[9]]}) == ["ok"]
    del claimed[jobs[9]]
    assert db.complete(claimed) == ["ok"] * 14
    sound()
