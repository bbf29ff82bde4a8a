"""Three days of a busy database: history, dead letters, keys that are blocked, jobs that wait."""

# ruff: noqa: E501  statements
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg

DAYS = ["2030-03-01 12:00+00", "2030-03-02 12:00+00", "2030-03-03 12:00+00"]
AT_ONCE = 10_000


@dataclass(frozen=True)
class Sizes:
    """How many there are, over all days. The rest of the jobs are history."""

    jobs: int
    dead: int
    lanes: int
    keys: int
    blocked: int
    waiting: int


def start(conn: psycopg.Connection[Any]) -> None:
    """Nobody but the test gathers statistics, the clock stands, and each day has its partition."""
    conn.execute("create table public.clock (instant timestamptz not null)")
    conn.execute("insert into public.clock values (%s)", [DAYS[0]])
    conn.execute(
        "create or replace function pgbaton._now() returns timestamptz language sql volatile"
        " as 'select c.instant from public.clock as c'"
    )
    conn.execute("select pgbaton.create_queue('s', max_attempts => 1, max_lanes => 1000000)")
    conn.execute("select pgbaton.create_queue('other', max_attempts => 1)")
    conn.execute("select pgbaton.create_queue('limited', max_attempts => 1, policy => 'stately')")
    conn.execute("select pgbaton.create_queue('empty')")
    conn.execute("select pgbaton.create_fifo_queue('f', max_attempts => 1)")
    conn.execute(
        "select pgbaton.create_fifo_queue('again', max_attempts => 9, retry_delay => '5 days',"
        " retry_backoff => false)"
    )
    conn.execute("select pgbaton.create_schedule('nightly', 'other', '0 3 * * *')")
    for day in DAYS:
        go_to(conn, day)
        conn.execute("select pgbaton.run_maintenance()")
    for (table,) in tables(conn):
        conn.execute(f"alter table {table} set (autovacuum_enabled = off)")


def tables(conn: psycopg.Connection[Any]) -> list[tuple[LiteralString]]:
    """Those that autovacuum analyzes: no partitioned parents."""
    return conn.execute(
        "select c.oid::regclass::text from pg_class as c"
        " where c.relnamespace = 'pgbaton'::regnamespace and c.relkind = 'r'"
    ).fetchall()


def analyze_as_autovacuum(conn: psycopg.Connection[Any]) -> None:
    for (table,) in tables(conn):
        conn.execute(f"vacuum analyze {table}")


def go_to(conn: psycopg.Connection[Any], instant: str) -> None:
    conn.execute("update public.clock set instant = %s", [instant])


def fill(conn: psycopg.Connection[Any], sizes: Sizes) -> None:
    """Each day gets a third of everything; the last one also what is running and asleep."""
    for number, day in enumerate(DAYS):
        go_to(conn, day)
        fill_day(conn, sizes, number)
    # Running, and staged: few of each, whatever the size.
    go_to(conn, "2030-03-03 18:00+00")
    enqueue(conn, "s", 20, job_type="running")
    conn.execute("select count(*) from pgbaton.claim_job_batch('w', '{s}', '{running}')")
    conn.execute("select count(*) from pgbaton.claim_job_batch('w2', '{s}', '{running}')")
    # One that waits for one of them, and so whoever ends a job looks whether somebody waits for it.
    conn.execute(
        "select pgbaton.enqueue_job('s', job_type => 'running', after => array[min(s.lo)])"
        " from pgbaton.span as s where s.state = 'active'"
    )
    conn.execute("select pgbaton.worker_heartbeat('w', 3)")
    conn.execute("select pgbaton.wait_for_jobs('asleep', '{empty}')")
    conn.execute(
        "select pgbaton.spark_stage(%s, gen_random_uuid(), n, 1, 'other', array_fill('1'::jsonb, '{10}'))"
        " from generate_series(0, 4) as n",
        [f"run {sizes.jobs}"],
    )
    # The longest name of a run is that of the one that is asked for.
    send_run(conn, f"the run of {sizes.jobs:09}", 50)
    fail(conn, "other", 25, 5, "{run}")
    conn.execute("select pgbaton.subscribe('other', 'news.#')")
    conn.execute("select pgbaton.run_maintenance()")


def send_run(conn: psycopg.Connection[Any], run_id: str, rows: int) -> None:
    """One partition of a run, ten rows a statement."""
    with conn.transaction():
        for first in range(0, rows, 10):
            conn.execute(
                "insert into pgbaton.enqueue_inbox (queue, run_id, part, parts, job_type, payload)"
                " select 'other', %s, 0, 1, 'run', to_jsonb(n) from generate_series(%s::int, %s::int) as n",
                [run_id, first, first + 9],
            )


def fill_day(conn: psycopg.Connection[Any], sizes: Sizes, day: int) -> None:
    part = 3
    send_run(conn, f"run {sizes.jobs} {day}", min(sizes.jobs // 10, 1_000))
    for n in range(day, sizes.lanes, part):
        conn.execute(
            "select pgbaton.enqueue_job('s', job_type => 'lane', tags => array['x', %s])", [f"t{n}"]
        )
    # Dead letters among what was completed, of two queues, with some errors of their own.
    dead = sizes.dead // part
    done = (sizes.jobs - sizes.waiting - sizes.dead - sizes.lanes) // part
    work(conn, "s", done * 2 // 3, dead)
    work(conn, "other", done // 3, dead // 2)
    enqueue(conn, "s", 50, job_type="scheduled", run_at="2030-04-01")
    # Keys: some blocked by a failed job, as many by one that is retried, the others with jobs that wait.
    for queue, count in (("f", sizes.keys // part), ("again", sizes.blocked // part)):
        keys = [f"{queue} {day} {n}" for n in range(count)]
        waiting = sizes.waiting // part // 2 if queue == "f" else 0
        for first in range(0, waiting, AT_ONCE):
            conn.execute(
                "select count(*) from pgbaton.enqueue_batch(%s, array_fill('1'::jsonb, array[%s]),"
                " array_fill('hot'::text, array[%s]))",
                [queue, min(AT_ONCE, waiting - first), min(AT_ONCE, waiting - first)],
            )
        for _ in range(2):
            conn.execute(
                "select count(*) from pgbaton.enqueue_batch(%s, array_fill('1'::jsonb, array[%s]), %s)",
                [queue, count, keys],
            )
        rest = keys[: max(waiting - count, 0)]
        conn.execute(
            "select count(*) from pgbaton.enqueue_batch(%s, array_fill('1'::jsonb, array[%s]), %s)",
            [queue, len(rest), rest],
        )
        fail(conn, queue, sizes.blocked // part, sizes.blocked // part)
    # Dead letters of keys that went on, ids of producers, values that were left.
    conn.execute(
        "select pgbaton.enqueue_job('limited', singleton_key => k, dedup_id => k,"
        " keys_if_undelivered => jsonb_build_array(jsonb_build_array('kv', k)))"
        " from (select format('%%s %%s %%s', %s::int, %s::int, n) as k from generate_series(1, %s) as n) as n",
        [sizes.jobs, day, max(sizes.dead // 10, 10)],
    )
    fail(conn, "limited", max(sizes.dead // 10, 10), max(sizes.dead // 10, 10))


def enqueue(conn: psycopg.Connection[Any], queue: str, count: int, **options: Any) -> None:
    for first in range(0, count, AT_ONCE):
        conn.execute(
            "select count(*) from pgbaton.enqueue_batch(%(queue)s, array_fill('{\"a\": 1}'::jsonb, array[%(n)s]),"
            " job_type => %(job_type)s, tags => %(tags)s, run_at => %(run_at)s)",
            {
                "queue": queue,
                "n": min(AT_ONCE, count - first),
                "job_type": options.get("job_type", ""),
                "tags": options.get("tags", []),
                "run_at": options.get("run_at"),
            },
        )


def work(conn: psycopg.Connection[Any], queue: str, done: int, dead: int) -> None:
    enqueue(conn, queue, done + dead, job_type="plain", tags=["red"])
    fail(conn, queue, done + dead, dead, "{plain}")


def fail(
    conn: psycopg.Connection[Any], queue: str, count: int, dead: int, types: str | None = None
) -> None:
    """Claims as many and fails some of them, evenly spread; the others are completed."""
    while count > 0:
        ids, token = conn.execute(
            "select array_agg(id order by id), max(lease_token)"
            " from pgbaton.claim_job_batch('filler', array[%s], %s, batch_size => %s)",
            [queue, types, min(count, 1_000)],
        ).fetchone()
        if not ids:
            return
        failing = min(dead * len(ids) // count, len(ids))
        failed = ids[:: len(ids) // failing][:failing] if failing else []
        conn.execute(
            "select count(*) from pgbaton.fail_jobs(%s, array_fill('no'::text, array[%s]), %s)",
            [failed, len(failed), token],
        )
        conn.execute("select pgbaton.complete_claim(%s)", [token])
        conn.execute("update public.clock set instant = instant + interval '1 second'")
        count -= len(ids)
        dead -= failing
