"""Bloat: an old snapshot is open for ten minutes of work, and claims read as little as before.

Counted in buffers and index entries. Ten minutes by pgbaton's clock, so that what goes by time
happens.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import psycopg
import pytest
from cost import measure
from sessions import Session

BATCH = 200
FLAT = (
    "buffers",
    "span_pkey",
    "span_ready_idx",
    "ready_span_pkey",
    "ready_span_line_idx",
    "leased_span_pkey",
    "leased_span_token_idx",
    "span_waiting_idx",
    "span_due_idx",
    "span_token_idx",
)


def token(db: Session) -> int:
    """Of the claim that is not completed yet."""
    return db.one("select max(lease_token) from pgbaton.span where state = 'active'")


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

        read: list[Counter[str]] = []
        for n in range(batches):
            db.rows(
                "select set_config('clock.now', ('2030-01-01 12:00+00'::timestamptz + %s)::text,"
                " false)",
                timedelta(minutes=10) * n / batches,
            )
            if queue == "fifo":
                # Each key has twelve jobs in all: see the second test.
                keys = [f"key {n % (batches // 12)} {k}" for k in range(BATCH)]
                db.enqueue_batch("q", BATCH, keys)
            else:  # one by one, so that each leaves dead entries of its own
                db.rows("select pgbaton.enqueue_job('q') from generate_series(1, %s)", BATCH)
            db.begin()
            claim = measure(
                db, "select from pgbaton.claim_job_batch('w', array['q'], batch_size => 200)"
            )
            assert claim.rows == BATCH
            db.commit()
            db.begin()
            complete = measure(db, "select pgbaton.complete_claim(%s)", token(db))
            db.commit()
            read += [Counter(claim.reads) + Counter(complete.reads)]
            read[-1]["buffers"] = claim.buffers + complete.buffers

        # The snapshot was there all the time: to it nothing was ever enqueued.
        assert old.execute("select count(*) from pgbaton.span").fetchone() == (0,)
        tenth = batches // 10
        first = sum(read[tenth : 2 * tenth], Counter())
        last = sum(read[-tenth:], Counter())
        for what in FLAT:
            assert last[what] < 2 * first[what] + BATCH * tenth, (what, first, last)
        # Leases that ended: each claim reads those of the last three seconds, the upkeep of every
        # ten seconds those of the last thirty; not all of the five minutes since the first ended.
        assert last["span_lease_idx"] < 8 * BATCH * tenth, last
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
            complete = measure(db, "select pgbaton.complete_claim(%s)", token(db))
            db.commit()
            return claim.buffers + complete.buffers

        others()
        before = others()
        for _ in range(300):
            db.enqueue("q", "hot")
            assert db.complete(db.claim("q")) == ["ok"]
        assert others() < 2 * before
        db.close()


def test_statistics_of_a_table_that_was_nearly_empty(dsn: str) -> None:
    """Completing then still finds its jobs by their token, not by reading the primary key."""
    with psycopg.connect(dsn, autocommit=True) as observer, psycopg.connect(dsn) as old:
        db = Session(dsn, observer)
        db.rows("select pgbaton.create_fifo_queue('q')")
        old.execute("set transaction isolation level repeatable read")
        old.execute("select count(*) from pgbaton.span")
        for n in range(10):
            db.enqueue_batch("q", BATCH, [f"key {k}" for k in range(BATCH)])
            assert len(db.claim("q", BATCH)) == BATCH
            if n < 9:
                db.rows("select pgbaton.complete_claim(%s)", token(db))
            if n == 8:
                db.rows("analyze pgbaton.span")
        db.begin()
        cost = measure(db, "select pgbaton.complete_claim(%s)", token(db))
        db.commit()
        assert cost.reads["span_pkey"] < 8 * BATCH, cost
        db.close()
