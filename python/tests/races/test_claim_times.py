"""What history says of a key must be what happened: no job begins before the one before it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sessions import Clock, Session


@contextmanager
def claims_wait_for(holder: Session) -> Iterator[None]:
    """Holds up every claim after it has begun and before it looks for jobs."""
    original = holder.one("select pg_get_functiondef('pgbaton._tend'::regproc)")
    holder.rows("select pg_advisory_lock(1)")
    holder.rows("""
        create or replace function pgbaton._tend(at timestamptz) returns void
        language sql as $$ select pg_advisory_xact_lock_shared(1) $$
    """)
    yield
    holder.rows("select pg_advisory_unlock(1)")
    holder.conn.execute(original)


def test_a_job_is_not_claimed_before_the_one_before_it_has_ended(
    db: Session, open_session: Callable[[], Session], sound: Callable[[], None]
) -> None:
    db.rows("select pgbaton.create_fifo_queue('orders')")
    db.enqueue_batch("orders", 2, ["a", "a"])
    finishing, claiming = open_session(), open_session()
    first = finishing.claim("orders")
    with claims_wait_for(db):
        claim = claiming.start(
            "select claimed_at, lease_until - claimed_at from pgbaton.claim_job_batch('w', "
            "lease => '1 minute')"
        ).until_blocked(db)
        finishing.complete(first)
    [(claimed_at, lease)] = claim.rows()
    assert claimed_at > db.one("select finished_at from pgbaton.finished_jobs")
    assert lease.total_seconds() == 60
    sound()


def test_a_lease_is_extended_from_when_the_call_got_hold_of_its_job(
    db: Session, open_session: Callable[[], Session], clock: Clock, sound: Callable[[], None]
) -> None:
    db.rows("select pgbaton.create_queue('mail')")
    jobs = db.enqueue_batch("mail", 2)
    claimed = db.claim("mail")
    neighbour, worker = open_session(), open_session()
    neighbour.begin()
    neighbour.complete({jobs[0]: claimed[jobs[0]]})
    waiting = worker.start(
        "select verdict from pgbaton.extend_leases(array[%s], %s, '1 minute')",
        jobs[1],
        claimed[jobs[1]],
    ).until_blocked(neighbour)
    clock.advance("2 minutes")
    neighbour.commit()
    assert waiting.one() == "ok"
    assert db.one("select lease_until - pgbaton._now() from pgbaton.span").total_seconds() == 60
    sound()
