"""Plans: what a call reads does not grow with the backlog, whatever the planner knows of it.

Counted in rows and buffers, never in time. pgtap/plans/hot_calls.pg does so for every hot call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from calls import run_all
from cost import Cost, measure
from invariants import assert_sound
from sessions import Session

EXECUTIONS = 7  # of each prepared statement: the sixth is the first that may use a generic plan
SIZES = [
    0,
    1_000,
    20_000,
    pytest.param(1_000_000, marks=pytest.mark.proof),
    pytest.param(10_000_000, marks=[pytest.mark.proof, pytest.mark.timeout(1200)]),
]
HOT_CALLS = {
    "claim": "select from pgbaton.claim_job_batch('w', array['plain'], lease => '1 us')",
    "claim keyed": "select from pgbaton.claim_job_batch('keyed', array['q'], lease => '1 hour')",
    "recover": "select pgbaton.recover_stale_jobs(queue => 'plain')",
    "promote": "select pgbaton.complete_claim($1)",
}
STATISTICS = {
    "queue_stats": "select pgbaton.queue_stats()",
    "fifo_stats": "select pgbaton.fifo_stats('q')",
    "get_job_stats": "select pgbaton.get_job_stats()",
}


def fill(db: Session, jobs: int) -> None:
    """As fill.sql says."""
    for queue, key in (("plain", None), ("q", "first")):
        db.enqueue(queue, key)
        run_all(db, queue)
    db.conn.execute((Path(__file__).parent / "fill.sql").read_bytes())
    db.rows("select fill(%s)", jobs)


@pytest.fixture
def open_db(dsn: str) -> Iterator[Callable[[], Session]]:
    """Sessions of a database in which nobody but the test gathers statistics."""
    opened: list[Session] = []
    with psycopg.connect(dsn, autocommit=True) as observer:
        tables = observer.execute(
            "select c.oid::regclass::text from pg_class as c"
            " where c.relnamespace = 'pgbaton'::regnamespace and c.relkind = 'r'"
        )
        for (table,) in tables.fetchall():
            observer.execute(f"alter table {table} set (autovacuum_enabled = off)")
        observer.execute("select pgbaton.create_queue('plain'), pgbaton.create_fifo_queue('q')")

        def open_one() -> Session:
            session = Session(dsn, observer)
            session.rows("set statement_timeout = 0")
            for number, call in enumerate(HOT_CALLS.values()):
                session.conn.execute(f"prepare call_{number} as {call}")
            opened.append(session)
            return session

        yield open_one
        for session in opened:
            session.close()


def costs(db: Session) -> dict[str, list[Cost]]:
    """Of each hot call, execution by execution, with ten jobs of either kind for each round."""
    found: dict[str, list[Cost]] = {call: [] for call in HOT_CALLS}
    for execution in range(EXECUTIONS):
        db.enqueue_batch("plain", 10)
        db.enqueue_batch("q", 10, [f"{db.pid} {execution} {n % 9}" for n in range(10)])
        for number, call in enumerate(HOT_CALLS):
            newest = "select max(lease_token) from pgbaton.span where worker_id = 'keyed'"
            arguments = f"({db.one(newest)})" if call == "promote" else ""
            db.begin()
            found[call] += [measure(db, f"execute call_{number}{arguments}")]
            db.commit()
    return found


def assert_small(found: dict[str, list[Cost]], when: str) -> None:
    for call, costs_of_call in found.items():
        for execution, cost in enumerate(costs_of_call, 1):
            what = f"{call}, {when}, execution {execution}: {cost}"
            assert max(cost.reads.values()) < 400, what
            assert cost.buffers < 4_000, what
            assert not {"span", "job", "job_history"} & set(cost.scanned_whole), what
            assert not any(name.startswith("job_2") for name in cost.scanned_whole), what


@pytest.mark.parametrize("jobs", SIZES)
def test_claim_recover_promote_and_statistics(open_db: Callable[[], Session], jobs: int) -> None:
    """With statistics of nothing, in a session planned for nothing, then with true ones."""
    db = open_db()
    db.rows("analyze")
    assert_small(costs(db), "nothing there")
    fill(db, jobs)
    if jobs <= 20_000:
        assert_sound(db.conn)
    assert_small(costs(db), "planned for nothing")
    unplanned = open_db()
    assert_small(costs(unplanned), "statistics of nothing")
    unplanned.rows("analyze")
    analyzed = open_db()
    assert_small(costs(analyzed), "analyzed")

    # Statistics may read every live row, some of them a few times, and no more.
    spans = analyzed.one("select count(*) from pgbaton.span")
    for name, call in STATISTICS.items():
        analyzed.begin()
        cost = measure(analyzed, call)
        analyzed.rollback()
        assert max(cost.reads.values()) < 6 * spans + 2_000, f"{name}: {cost}"

    # All of it gone, but the planner believes that it is there. (Vacuumed, for else planning itself
    # reads up to a hundred pages of dead entries, once a session.)
    size = "select relpages, reltuples from pg_class where oid = 'pgbaton.span'::regclass"
    ((pages, rows),) = analyzed.rows(size)
    analyzed.rows("delete from pgbaton.span")
    analyzed.rows("vacuum (truncate false) pgbaton.span")
    analyzed.rows(
        "update pg_class set relpages = %s, reltuples = %s where oid = 'pgbaton.span'::regclass",
        pages,
        rows,
    )
    assert_small(costs(open_db()), "statistics of what is gone")


def test_a_whole_scan_would_be_noticed(open_db: Callable[[], Session]) -> None:
    db = open_db()
    fill(db, 20_000)
    db.begin()
    cost = measure(db, "select count(*) from pgbaton.span where state <> 'failed'")
    db.rollback()
    with pytest.raises(AssertionError):
        assert_small({"count": [cost]}, "")
