"""A stream of ended jobs that looks reads what ended since, not what retention keeps.

A look happens every few seconds, mostly for nothing. Counted are the rows and blocks of a look at a
database with three days of history and of dead letters.
"""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest
import world
from test_bounds import Cost, Counter

HISTORY, DEAD, NEW = 60_000, 3_000, 20

CALLS = {
    "ended_jobs_offset": "select pgbaton.ended_jobs_offset(%(after)s)",
    "ended_jobs_ranges": "select * from pgbaton.ended_jobs_ranges(%(after)s, %(until)s)",
    "ended_jobs": "select * from pgbaton.ended_jobs(%(after)s, %(until)s)",
}


def fill(conn: psycopg.Connection[Any]) -> None:
    """Rows as if each job had ended by itself, in the order in which they ended."""
    world.go_to(conn, world.DAYS[-1])
    world.work(conn, "s", 1, 0)
    conn.execute(
        "insert into pgbaton.job_history"
        " (lo, hi, finished_at, day, queue_id, lane_id, state, attempt)"
        " select -n, -n, f.finished_at, f.finished_at::date, h.queue_id, h.lane_id, 'completed', 1"
        " from pgbaton.job_history as h, generate_series(1, %(rows)s::int) as n,"
        " lateral (select h.finished_at - interval '50 hours' * (%(rows)s - n) / %(rows)s"
        "   - interval '2 hours' as finished_at) as f order by n",
        {"rows": HISTORY},
    )
    world.work(conn, "other", DEAD, DEAD)
    world.go_to(conn, "2030-03-03 18:00+00")


def costs(conn: psycopg.Connection[Any], analyzed: str) -> dict[str, list[Cost]]:
    world.start(conn)
    if analyzed == "empty":
        conn.execute("analyze")
    fill(conn)
    # As autovacuum does: the index knows where in a table which time stands.
    for (table,) in world.tables(conn):
        conn.execute(f"vacuum {'analyze' if analyzed == 'yes' else ''} {table}")
    after = conn.execute("select pgbaton.ended_jobs_offset()").fetchone()[0]
    after = conn.execute("select pgbaton.ended_jobs_offset(%s)", [json.dumps(after)]).fetchone()[0]
    conn.execute("select pg_current_xact_id()")  # or it knows without looking
    counter = Counter(conn)
    found: dict[str, list[Cost]] = {name: [] for name in CALLS}
    values = {"after": json.dumps(after)}
    with counter.counted(found["ended_jobs_offset"]):
        assert conn.execute(CALLS["ended_jobs_offset"], values).fetchone() == (after,)
    for _ in range(NEW):
        world.work(conn, "s", 1, 0)
    until = conn.execute(CALLS["ended_jobs_offset"], values).fetchone()[0]
    assert until != after
    values["until"] = json.dumps(until)
    for name, statement in CALLS.items():
        for _ in range(7):  # the sixth may be the first with a generic plan
            with counter.counted(found[name]):
                rows = conn.execute(statement, values).fetchall()
        if name == "ended_jobs":
            assert len(rows) == NEW
    return found


@pytest.mark.parametrize("analyzed", ["yes", "empty", "no"])
def test_a_look_reads_what_ended_since(conn: psycopg.Connection[Any], analyzed: str) -> None:
    for name, found in costs(conn, analyzed).items():
        # The day's megabyte in which the last ones stand is read as a whole.
        worst = max(found, key=lambda cost: cost.rows)
        assert worst.rows < 12_000, (name, worst)
        assert max(cost.blocks for cost in found) < 1_500, (name, found)
