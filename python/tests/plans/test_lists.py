"""A call of a list of jobs does for each as much as for few, also when one of them is lost.

Counted are the rows that went through the plans of all statements within the call: where each job
is compared with each, five times as many jobs cost twenty-five times as much.
"""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from test_bounds import Cost, Counter

CLAIMED = {
    "complete_and_claim": "select pgbaton.complete_and_claim(%(ids)s, %(token)s, 'w', '{empty}')",
    "complete_jobs": "select pgbaton.complete_jobs(%(ids)s, lease_token => %(token)s)",
    "extend_leases": "select pgbaton.extend_leases(%(ids)s, %(token)s)",
    "fail_jobs": "select pgbaton.fail_jobs(%(ids)s, array_fill('no'::text, array[%(jobs)s]), %(token)s)",  # noqa: E501
    "release_jobs": "select pgbaton.release_jobs(%(ids)s, %(token)s)",
    "start_jobs": "select pgbaton.start_jobs(%(ids)s, %(token)s)",
}
WAITING = {
    "cancel_jobs": "select pgbaton.cancel_jobs(job_ids => %(ids)s)",
    "list_blocked_keys": "select pgbaton.list_blocked_keys(%(ids)s)",
}
ENDED = {
    "delete_jobs": "select pgbaton.delete_jobs(job_ids => %(ids)s)",
    "list_jobs": "select pgbaton.list_jobs(%(ids)s)",
    "job_outcomes": "select pgbaton.job_outcomes(%(ids)s)",
    "wait_for_outcomes": "select pgbaton.wait_for_outcomes(%(ids)s, '0')",
}
CALLS = {**CLAIMED, **WAITING, **ENDED}
TAKE_LISTS = """
    select distinct p.proname::text from pg_proc as p
    where p.pronamespace = 'pgbaton'::regnamespace and p.proname !~ '^_'
        and array_position(p.proargnames, 'job_ids') <= p.pronargs
        and p.proargtypes[array_position(p.proargnames, 'job_ids') - 1] = 'bigint[]'::regtype
"""
FEW, MANY = 200, 1_000


@pytest.fixture
def counter(conn: psycopg.Connection[Any]) -> Counter:
    conn.execute("select pgbaton.create_queue('s'), pgbaton.create_queue('empty')")
    conn.execute("select pgbaton.create_fifo_queue('f')")
    return Counter(conn)


def enqueued(conn: psycopg.Connection[Any], queue: str, jobs: int) -> list[int]:
    rows = conn.execute(
        "select pgbaton.enqueue_batch(%s, array_fill('1'::jsonb, array[%s]), case when %s then"
        " array(select gen_random_uuid()::text from generate_series(1, %s)) end)",
        [queue, jobs, queue == "f", jobs],
    )
    return [job for (job,) in rows]


def cost(counter: Counter, name: str, queue: str, jobs: int, is_one_lost: bool) -> int:
    """The rows that the call reads; one job of the list has ended before, or was dropped."""
    conn = counter.conn
    ids = enqueued(conn, queue, jobs)
    token, lost = 0, ids[jobs // 2]
    if name not in WAITING:
        rows = conn.execute(
            "select id, lease_token from pgbaton.claim_job_batch('w', array[%s], batch_size => %s)",
            [queue, jobs],
        ).fetchall()
        assert len(rows) == jobs
        token = rows[0][1]
    if name in ENDED:
        conn.execute("select pgbaton.complete_claim(%s)", [token])
    if is_one_lost and name in ENDED:
        conn.execute("select pgbaton.delete_jobs(job_ids => array[%s]::bigint[])", [lost])
    elif is_one_lost:
        conn.execute("select pgbaton.cancel_jobs(job_ids => array[%s]::bigint[])", [lost])
        if name in CLAIMED:
            ended = "select pgbaton.acknowledge_cancellation(%s::bigint, true, %s::bigint)"
            conn.execute(ended, [lost, token])
    costs: list[Cost] = []
    with counter.counted(costs):
        conn.execute(CALLS[name], {"ids": ids, "token": token, "jobs": jobs})
    conn.execute("select pgbaton.cancel_jobs(job_ids => %s)", [ids])
    conn.execute("select pgbaton.complete_claim(%s)", [token])
    return costs[0].rows


def test_each_call_that_takes_a_list_is_tried(conn: psycopg.Connection[Any]) -> None:
    assert {name for (name,) in conn.execute(TAKE_LISTS)} == set(CALLS)


@pytest.mark.parametrize("is_one_lost", [False, True])
@pytest.mark.parametrize("queue", ["s", "f"])
@pytest.mark.parametrize("name", CALLS)
def test_five_times_as_many_jobs(
    counter: Counter, name: str, queue: str, is_one_lost: bool
) -> None:
    few = cost(counter, name, queue, FEW, is_one_lost)
    many = cost(counter, name, queue, MANY, is_one_lost)
    assert many <= few * MANY // FEW * 1.3 + 1_000, (few, many)
