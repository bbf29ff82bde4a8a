"""Staged rows become what enqueue_job makes of them, in the same order; if it refuses one, none."""

from __future__ import annotations

import uuid
from typing import Any

import psycopg
import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st
from invariants import RULES

LIMITED = ["short", "stately", "exclusive"]  # of a key one job may be queued
POLICIES = ["standard", "fifo", "singleton", *LIMITED]
REFUSED = "PB006"
Row = tuple[str | None, int, int]  # key, priority, days until it may run
Chunk = tuple[list[Row], int]  # how many ids another session draws before the next one


@st.composite
def chunks(draw: st.DrawFn, needs_keys: bool, may_wait: bool, is_limited: bool) -> Chunk:
    count = draw(st.sampled_from([0, 1, 2] if is_limited else [0, 1, 2, 7, 63, 64, 65, 130]))
    # Few of each, so that neighbours are often alike; many where the second of a key is refused.
    few: list[str | None] = ["a", "b", "c"] if needs_keys else [None, "a", "b"]
    keys = [*few, *"defghijklmnop"] if is_limited else few
    key_line = draw(st.lists(st.sampled_from(keys), min_size=1, max_size=5))
    waits = draw(st.lists(st.sampled_from([0, 0, 0, 3]), min_size=1, max_size=3))
    lanes = draw(st.sampled_from([[100], [100], [100, 50]]))
    run = draw(st.sampled_from([1, 1, 3, 70]))
    return [
        (
            key_line[i // run % len(key_line)],
            lanes[i // 5 % len(lanes)],
            waits[i // 9 % len(waits)] if may_wait else 0,
        )
        for i in range(count)
    ], draw(st.sampled_from([0, 0, 1, 63, 200]))


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, str, list[list[Chunk]], int]:
    """Policies when it is staged and when it is committed, chunks by part, a lower bound."""
    before, after = draw(st.sampled_from(POLICIES)), draw(st.sampled_from(POLICIES))
    chunk = chunks("fifo" in (before, after), draw(st.booleans()), after in LIMITED)
    parts = draw(st.lists(st.lists(chunk, max_size=3), min_size=1, max_size=3))
    return before, after, parts, draw(st.sampled_from([1, 1, 0, 5]))


def drained(conn: psycopg.Connection[Any], queue: str, policy: str) -> list[Any]:
    """States before anything is claimed, then in which order the jobs of each key are."""
    states = conn.execute(
        "select l.payload, l.singleton_key, l.priority, l.state, l.run_at > pgbaton._now()"
        " from pgbaton.live_jobs as l where l.queue = %s order by l.payload::integer",
        [queue],
    ).fetchall()
    lines: dict[str | None, list[int]] = {}  # one for all where keys have no order
    while claimed := conn.execute(
        "select id, lease_token, singleton_key, payload"
        " from pgbaton.claim_job_batch('w', %s, batch_size => 50)",
        [[queue]],
    ).fetchall():
        for _, _, key, payload in claimed:
            lines.setdefault(None if policy == "standard" else key, []).append(payload)
        conn.execute(
            "select pgbaton.complete_jobs(%s, %s)", [[c[0] for c in claimed], claimed[0][1]]
        )
    return [states, lines]


def enqueued_singly(conn: psycopg.Connection[Any], queue: str, rows: list[tuple[int, Row]]) -> bool:
    """False when the queue's policy refuses one."""
    try:
        for i, (key, priority, days) in rows:
            conn.execute(
                "select pgbaton.enqueue_job(%s, %s::text::jsonb, %s, %s, delay => %s::interval)",
                [queue, str(i), priority, key, f"{days} days" if days else None],
            )
    except psycopg.Error as error:
        if error.sqlstate != REFUSED:
            raise
        return False
    return True


@pytest.mark.timeout(600)  # a failure is made as short as possible first
@settings(max_examples=80)
@given(cases())
def test_staged_rows_become_what_enqueue_job_makes(
    shared: psycopg.Connection[Any], case: tuple[str, str, list[list[Chunk]], int]
) -> None:
    before, after, parts, lower = case
    note(f"{before} then {after}")
    staged, plain, run = (uuid.uuid4().hex for _ in range(3))
    attempts = [uuid.uuid4() for _ in parts]
    shared.execute("select pgbaton.create_queue(%s, %s)", [staged, before])
    shared.execute("select pgbaton.create_queue(%s, %s)", [plain, after])
    shared.execute("select pgbaton.enqueue_job(%s, '-1', singleton_key => 'z')", [staged])
    last = 0
    # Staged in another order than they are committed in.
    numbered: list[tuple[int, int, list[tuple[int, Row]], int]] = []
    for part, its_chunks in enumerate(parts):
        for n, (rows, drawn) in enumerate(its_chunks):
            numbered.append((part, n, list(enumerate(rows, last)), drawn))
            last += len(rows)
    for part, n, rows, drawn in sorted(numbered, key=lambda c: (c[1], -c[0])):
        at = f"[{lower}:{lower + len(rows) - 1}]=" if rows else ""
        keys = ",".join(key or "null" for _, (key, _, _) in rows)
        days = ",".join(f"{days} days" if days else "null" for _, (_, _, days) in rows)
        has_days = any(row[2] for _, row in rows)
        has_keys = any(row[0] for _, row in rows)
        shared.execute(
            "select pgbaton.spark_stage(%s, %s, %s, %s, %s, %s::text::jsonb[], %s::text::text[],"
            " %s, run_ats => (select array_agg(clock_timestamp() + i)"
            " from unnest(%s::text::interval[]) as i))",
            [
                *[run, attempts[part], part, n, staged],
                "{" + ",".join(str(i) for i, _ in rows) + "}",
                at + "{" + keys + "}" if has_keys else None,
                [row[1] for _, row in rows] if any(row[1] != 100 for _, row in rows) else None,
                "{" + days + "}" if has_days else None,
            ],
        )
        shared.execute("select nextval('pgbaton.job_id_seq') from generate_series(1, %s)", [drawn])
        shared.execute("select pgbaton.run_maintenance()")
    if before != after:
        shared.execute("select pgbaton.drop_queue(%s, force => true)", [staged])
        shared.execute("select pgbaton.create_queue(%s, %s)", [staged, after])
    else:
        drained(shared, staged, before)
    commit = "select inserted from pgbaton.spark_commit(%s, %s, %s)", [run, attempts, last]
    if not enqueued_singly(shared, plain, [row for _, _, rows, _ in numbered for row in rows]):
        event("refused")
        with pytest.raises(psycopg.Error) as refused:
            shared.execute(*commit)
        assert refused.value.sqlstate == REFUSED
        assert drained(shared, staged, after) == [[], {}]
        shared.execute("select pgbaton.spark_abort(%s)", [run])
        return
    assert shared.execute(*commit).fetchone() == (last,)
    for rule, query in RULES.items():
        if rule != "a job lives in exactly one place":  # those of a dropped queue do not
            assert not shared.execute(query).fetchall(), rule
    assert drained(shared, staged, after) == drained(shared, plain, after)
