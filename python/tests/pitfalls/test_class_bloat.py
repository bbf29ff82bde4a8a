"""Bloat: an old snapshot is open for ten minutes of work, and claims read as little as before.

Counted in buffers. Ten minutes by pgbaton's clock, so that everything that goes by time happens.
"""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest
from cost import measure
from sessions import Session

BATCH = 200


@pytest.mark.parametrize(
    "batches",
    [60, pytest.param(600, marks=[pytest.mark.proof, pytest.mark.timeout(900)])],
)
@pytest.mark.parametrize("queue", ["standard", "fifo"])
def test_an_old_snapshot_under_load(dsn: str, queue: str, batches: int) -> None:
    with psycopg.connect(dsn, autocommit=True) as observer, psycopg.connect(dsn) as old:
        db = Session(dsn, observer)
        db.rows("select pgbaton.create_queue('q', %s::text::pgbaton.queue_policy)", queue)
        # A clock without a table: its rows would pile up as well.
        db.rows("set clock.now = '2030-01-01 12:00+00'")
        db.rows(
            "create or replace function pgbaton._now() returns timestamptz language sql volatile"
            " as $$ select pg_catalog.current_setting('clock.now')::timestamptz $$"
        )
        db.rows("select pgbaton.run_maintenance()")
        old.execute("set transaction isolation level repeatable read")
        old.execute("select count(*) from pgbaton.span")

        buffers: list[int] = []
        for n in range(batches):
            db.rows(
                "select set_config('clock.now', ('2030-01-01 12:00+00'::timestamptz + %s)::text,"
                " false)",
                timedelta(minutes=10) * n / batches,
            )
            # Each key has twelve jobs in all: see the second test.
            keys = [f"key {n % (batches // 12)} {k}" for k in range(BATCH)]
            db.enqueue_batch("q", BATCH, keys if queue == "fifo" else None)
            db.begin()
            claim = measure(
                db, "select from pgbaton.claim_job_batch('w', array['q'], batch_size => 200)"
            )
            assert claim.rows == BATCH
            db.commit()
            db.begin()
            complete = measure(
                db,
                "select pgbaton.complete_claim(c.token) from ("
                "select max(s.lease_token) as token from pgbaton.span as s"
                " where s.state = 'active' and s.lease_until > '2000-01-01') as c",
            )
            db.commit()
            buffers += [claim.buffers + complete.buffers]

        # The snapshot was there all the time: to it nothing was ever enqueued.
        assert old.execute("select count(*) from pgbaton.span").fetchone() == (0,)
        tenth = batches // 10
        first, last = buffers[tenth : 2 * tenth], buffers[-tenth:]
        assert sum(last) < 2 * sum(first), buffers
        db.close()


def test_a_key_with_many_finished_jobs_slows_down_no_other(dsn: str) -> None:
    """Under an old snapshot each job of a key passes by the dead entries of those before it.

    That is a known limit: the key itself slows down, the others do not.
    """
    with psycopg.connect(dsn, autocommit=True) as observer, psycopg.connect(dsn) as old:
        db = Session(dsn, observer)
        db.rows("select pgbaton.create_fifo_queue('q')")
        old.execute("set transaction isolation level repeatable read")
        old.execute("select count(*) from pgbaton.span")

        def others() -> int:
            """Buffers of a claim and a completion of the next job of each of ten keys."""
            db.enqueue_batch("q", 10, [f"key {n}" for n in range(10)])
            db.begin()
            claim = measure(db, "select from pgbaton.claim_job_batch('w', array['q'])")
            assert claim.rows == 10
            complete = measure(
                db,
                "select pgbaton.complete_claim((select max(lease_token) from pgbaton.span"
                " where state = 'active' and lease_until > '2000-01-01'))",
            )
            db.commit()
            return claim.buffers + complete.buffers

        others()
        before = others()
        for _ in range(300):
            db.enqueue("q", "hot")
            assert db.complete(db.claim("q")) == ["ok"]
        assert others() < 2 * before
        db.close()
