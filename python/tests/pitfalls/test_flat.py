"""Flat: under an old snapshot each call reads as many blocks after 20,000 jobs as at the beginning.

Each way is a cycle of calls, made again and again while a REPEATABLE READ transaction from before
all of them is open, so that no dead row or index entry ever goes. The blocks of pgbaton's tables,
indexes and sequences that a call fetches are counted over a stretch of cycles at the beginning and
one at the end: deterministic, no clock but pgbaton's own, and no autovacuum.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import psycopg
import pytest

FUNCTIONS = Path(__file__).parents[3] / "functions"
SETTLED = 600  # cycles before the beginning: indexes have their second level
WINDOW = 128  # cycles that are counted, at the beginning and at the end

# What a cycle is made of. A call is counted under the name of its function; what stands before a
# bar is not counted. n is the number of the cycle.
CLAIM = (
    "select array_agg(id), max(lease_token) into v_ids, v_token from pgbaton.claim_job_batch("
    "'w', {queues}, batch_size => {size}{more});"
    " assert cardinality(v_ids) = {jobs}, 'claimed ' || v_ids::text"
)


def claim(jobs: int = 1, queues: str = "'{q}'", more: str = "", size: int = 0) -> str:
    more = more and f", {more}"
    return CLAIM.format(queues=queues, size=size or jobs, more=more, jobs=jobs)


def complete_and_claim(jobs: int = 1) -> str:
    """Of the last batch and of the next; the first time there is no last one."""
    last = "complete_and_claim(coalesce(v_ids, '{}'), v_token, 'w'"
    return claim(jobs).replace("claim_job_batch('w'", last)


def batch(jobs: int, keys: str = "null") -> str:
    return f"perform pgbaton.enqueue_batch('q', array_fill('{{}}'::jsonb, array[{jobs}]), {keys})"


PLAIN = "perform pgbaton.enqueue_job('q')"
COMPLETE = "perform pgbaton.complete_job(v_ids[1], lease_token => v_token)"
COMPLETE_ALL = "perform from pgbaton.complete_jobs(v_ids, v_token)"
KEYS = "array(select 'k' || (n * 10 + i) from generate_series(1, 10) as i)"
HOT = "array_fill('hot'::text, array[30])"
DAY = "lease => '1 day'"
FIFO = (
    "perform pgbaton.create_fifo_queue('q', max_attempts => null, retry_backoff => false,"
    " retry_delay => '0.01 s')"
)
STANDARD = "perform pgbaton.create_queue('q', max_attempts => null)"

# Name: what is done once, the calls of a cycle, how many jobs a cycle stands for.
WAYS: dict[str, tuple[str, list[str], int]] = {
    "claims of one from bulk spans": (
        STANDARD,
        [f"if n % 128 = 1 then {batch(128)}; end if; |", claim(), COMPLETE],
        1,
    ),
    "claims of ten from bulk spans": (
        STANDARD,
        [f"if n % 64 = 1 then {batch(640)}; end if; |", claim(10), COMPLETE_ALL],
        10,
    ),
    "completed and claimed in one call": (STANDARD, [PLAIN, complete_and_claim()], 1),
    "completed and claimed in one call, a hundred": (
        STANDARD,
        [batch(100), complete_and_claim(100)],
        100,
    ),
    "completed and claimed in one call, many keys": (
        FIFO,
        [batch(10, KEYS), complete_and_claim(10)],
        10,
    ),
    "claims of a hundred": (STANDARD, [batch(100), claim(100), COMPLETE_ALL], 100),
    "one by one": (STANDARD, [PLAIN, claim(), COMPLETE], 1),
    "one by one, a backlog": (
        f"{STANDARD}; {batch(300)}",
        [PLAIN, claim(), COMPLETE],
        1,
    ),
    "many keys": (FIFO, [batch(10, KEYS), claim(10), COMPLETE_ALL], 10),
    "many keys, claims of one": (
        FIFO,
        ["perform pgbaton.enqueue_job('q', singleton_key => 'k' || n)", claim(), COMPLETE],
        1,
    ),
    "one hot key": (
        f"{FIFO}; {batch(30, HOT)}",
        ["perform pgbaton.enqueue_job('q', singleton_key => 'hot')", claim(), COMPLETE],
        1,
    ),
    "batons by release rows": (
        FIFO,
        [
            "perform pgbaton.enqueue_job('q', singleton_key => 'k' || n);"
            " insert into pgbaton.baton_release (queue_id, singleton_key)"
            " select q.id, 'k' || n from pgbaton.queue as q where q.name = 'q' |",
            claim(),
            COMPLETE,
        ],
        1,
    ),
    "batons by release rows, analyzed when nearly empty": (
        FIFO,
        [
            "if n = 10 then analyze; end if;"
            " perform pgbaton.enqueue_job('q', singleton_key => 'k' || n);"
            " insert into pgbaton.baton_release (queue_id, singleton_key)"
            " select q.id, 'k' || n from pgbaton.queue as q where q.name = 'q' |",
            claim(),
            COMPLETE,
        ],
        1,
    ),
    "max_running": (
        f"{STANDARD}; perform pgbaton.set_queue_limits('q', 4)",
        [PLAIN, claim(), COMPLETE],
        1,
    ),
    "max_running that is full": (
        f"{STANDARD}; perform pgbaton.set_queue_limits('q', 2); {batch(300)}",
        [
            f"{batch(2)} |",
            claim(jobs=2, size=10),
            "perform from pgbaton.claim_job_batch('w', '{q}')",
            COMPLETE_ALL,
        ],
        2,
    ),
    "a rate": (
        f"{STANDARD}; perform pgbaton.set_queue_limits("
        "'q', rate_count => 4, rate_interval => '4 s')",
        [PLAIN, claim(), COMPLETE, "perform pg_temp.pass('1 s') |"],
        1,
    ),
    "a rate of each key": (
        f"{FIFO}; perform pgbaton.set_queue_limits("
        "'q', key_rate_count => 1, key_rate_interval => '1 s')",
        [
            "perform pgbaton.enqueue_job('q', singleton_key => 'k' || n)"
            " from generate_series(1, 2) |",
            claim(),
            COMPLETE,
            "perform from pgbaton.claim_job_batch('w', '{q}')",
            "perform pg_temp.pass('1 s') |",
            claim(),
            COMPLETE,
        ],
        2,
    ),
    "key_limit, many keys": (
        "perform pgbaton.create_queue('q', 'singleton', max_attempts => null);"
        " perform pgbaton.set_queue_limits('q', key_limit => 3)",
        [batch(10, KEYS), claim(10), COMPLETE_ALL],
        10,
    ),
    "retries": (
        STANDARD,
        [
            f"{PLAIN} |",
            claim(),
            "perform pgbaton.fail_job(v_ids[1], 'no', v_token, retry_in => '0.01 s')",
            "perform pg_temp.pass('0.1 s') |",
            claim(),
            COMPLETE,
        ],
        1,
    ),
    "retries of keys": (
        FIFO,
        [
            "perform pgbaton.enqueue_job('q', singleton_key => 'k' || n) |",
            claim(),
            "perform from pgbaton.fail_jobs(v_ids, array['no'], v_token)",
            "perform pg_temp.pass('0.1 s') |",
            claim(),
            COMPLETE,
        ],
        1,
    ),
    "scheduled jobs": (
        STANDARD,
        [
            "perform pgbaton.enqueue_job('q', delay => '0.1 s')",
            "perform pg_temp.pass('0.2 s') |",
            claim(),
            COMPLETE,
        ],
        1,
    ),
    "cancellations": (
        STANDARD,
        [
            "v_ids[1] := pgbaton.enqueue_job('q') |",
            "perform pgbaton.cancel_jobs(job_ids => v_ids)",
            f"{PLAIN}; {PLAIN}; {PLAIN} |",
            claim(),
            "perform pgbaton.cancel_jobs(job_ids => v_ids)",
            "perform pgbaton.acknowledge_cancellation(v_ids[1], true, v_token)",
            claim(),
            "perform pgbaton.cancel_jobs(job_ids => v_ids)",
            "perform pgbaton.stop_job_with_retry(v_ids[1], 'no', v_token)",
            claim(),
            "perform pgbaton.stop_job(v_ids[1], 'no', v_token)",
        ],
        4,
    ),
    "unknown ends": (
        STANDARD,
        [f"{PLAIN} |", claim(), "perform pgbaton.mark_job_unknown_stopped(v_ids[1])"],
        1,
    ),
    "releases": (
        STANDARD,
        [
            f"{PLAIN} |",
            claim(),
            "perform from pgbaton.release_jobs(v_ids, v_token)",
            claim(),
            COMPLETE,
        ],
        1,
    ),
    "releases of keys": (
        FIFO,
        [
            "perform pgbaton.enqueue_job('q', singleton_key => 'k' || n) |",
            claim(),
            "perform from pgbaton.release_jobs(v_ids, v_token)",
            claim(),
            COMPLETE,
        ],
        1,
    ),
    "recoveries": (
        STANDARD,
        [
            f"{PLAIN} |",
            claim(more="lease => '0.1 s'"),
            "perform pg_temp.pass('0.2 s') |",
            claim(),
            "perform pgbaton.complete_claim(v_token)",
        ],
        1,
    ),
    "workers given up": (
        STANDARD,
        [
            f"{PLAIN} |",
            claim(),
            "perform pgbaton.mark_worker_unresponsive('w')",
            claim(),
            COMPLETE,
        ],
        1,
    ),
    "dedup ids": (
        STANDARD,
        [
            "perform pgbaton.enqueue_job('q', dedup_id => 'd' || n)",
            "perform pgbaton.enqueue_job('q', dedup_id => 'd' || n, on_duplicate => 'skip')",
            "perform pgbaton.job_id_of('q', 'd' || n)",
            "perform from pgbaton.enqueue_jobs('q', jsonb_build_array(jsonb_build_object("
            "'dedup_id', 'e' || n)))",
            claim(2),
            COMPLETE_ALL,
        ],
        2,
    ),
    "tags": (
        f"{STANDARD}; perform pgbaton.enqueue_job('q', tags => array['t' || i], priority => i % 3)"
        " from generate_series(1, 50) as i",
        [
            "perform pgbaton.enqueue_job('q', tags => array['t' || n % 50], priority => n % 3)",
            claim(more="tags => array['t' || n % 50]"),
            COMPLETE,
        ],
        1,
    ),
    "two lanes in turn": (
        STANDARD,
        [
            f"if n % 128 = 1 then {batch(128)}; end if;"
            f" perform pgbaton.enqueue_job('q', job_type => 'other') |",
            claim(),
            COMPLETE,
            claim(),
            COMPLETE,
        ],
        2,
    ),
    "reports of a job": (
        f"{STANDARD}; {PLAIN}",
        [
            f"if n % 1000 = 1 then {PLAIN}; {claim(more=DAY)}; end if; |",
            "perform pgbaton.report_progress(v_ids[1], v_token, 50, 'half')",
            "perform from pgbaton.start_jobs(v_ids, v_token)",
            "perform from pgbaton.extend_leases(v_ids, v_token)",
            "perform from pgbaton.claimed_jobs(v_token)",
        ],
        1,
    ),
    "heartbeats": (STANDARD, ["perform pgbaton.worker_heartbeat('w', 10)"], 1),
    "dead letters": (
        FIFO,
        [
            "perform pgbaton.enqueue_job('q', singleton_key => 'k' || n) |",
            claim(),
            "perform pgbaton.fail_job(v_ids[1], 'no', v_token, retryable => false)",
            "perform pgbaton.retry_job('q', v_ids[1])",
            claim(),
            COMPLETE,
        ],
        1,
    ),
    "undelivered payloads": (
        STANDARD,
        [
            "perform pgbaton.enqueue_job('q', keys_if_undelivered => jsonb_build_array("
            "jsonb_build_array('a' || n))) |",
            claim(),
            "perform pgbaton.fail_job(v_ids[1], 'no', v_token, retryable => false)",
        ],
        1,
    ),
    "jobs that wait for jobs": (
        STANDARD,
        [
            "perform pgbaton.enqueue_job('q') |",
            claim(),
            "perform pgbaton.enqueue_job('q', after => v_ids)",
            COMPLETE,
            claim(),
            "perform from pgbaton.parent_outcomes(v_ids[1], v_token)",
            COMPLETE,
        ],
        1,
    ),
    "topics": (
        f"{STANDARD}; perform pgbaton.subscribe('q', 'a.*')",
        [
            "perform pgbaton.publish('a.b', '{}')",
            claim(),
            COMPLETE,
            "perform from pgbaton.list_subscriptions()",
        ],
        1,
    ),
    "sleeping and waking": (
        STANDARD,
        [
            "perform from pgbaton.wait_for_jobs('w', '{q}')",
            PLAIN,
            claim(),
            COMPLETE,
        ],
        1,
    ),
    "maintenance": (
        f"{STANDARD}; perform pgbaton.create_schedule('s', 'q', '* * * * *')",
        [
            "perform pg_temp.pass('1 minute') |",
            "perform pgbaton.run_maintenance()",
            claim(),
            COMPLETE,
        ],
        1,
    ),
}
for policy in ("short", "singleton", "stately", "exclusive"):
    WAYS[f"policy {policy}"] = (
        f"perform pgbaton.create_queue('q', '{policy}')",
        ["perform pgbaton.enqueue_job('q', singleton_key => 'k' || n)", claim(), COMPLETE],
        1,
    )

# What grows, and why. Each stands in docs/guarantees.md.
ONE_ROW = "one row that is written each time, by one job or worker: it passes its own dead versions"
GROWS = {
    "one hot key": {"claim_job_batch": "a key passes the dead entries of its own finished jobs"},
    "reports of a job": dict.fromkeys(
        ("report_progress", "start_jobs", "extend_leases", "claimed_jobs"), ONE_ROW
    ),
    "heartbeats": {"worker_heartbeat": ONE_ROW},
    "sleeping and waking": {
        "wait_for_jobs": "it passes the leases that would have ended within max_wait, no more"
    },
    "workers given up": {
        "mark_worker_unresponsive": "it looks at all leases: an operator's call, not a worker's",
    },
    "maintenance": {"run_maintenance": "once in ten minutes it reads everything"},
}
# Not called here: what reads or writes nothing that grows, or is called above under another name.
NOT_COUNTED = {
    "two_phase_backoff": "computes",
    "subscribe": "a setting",
    "unsubscribe": "a setting",
    "unregister_worker": "once in the life of a worker",
}
QUICK = (
    "claims of one from bulk spans",
    "completed and claimed in one call",
    "batons by release rows, analyzed when nearly empty",
    "releases",
    "dedup ids",
    "max_running",
    "a rate",
    "key_limit, many keys",
)

SETUP = """
create or replace function pgbaton._now() returns timestamptz language sql volatile
as $$ select pg_catalog.current_setting('clock.now')::timestamptz $$;
create function pg_temp.pass(this_long interval) returns void language sql
as $$ select set_config('clock.now', (pgbaton._now() + this_long)::text, false) $$;
create temporary table counted (call text, relation text, blocks bigint);
create function pg_temp.blocks() returns table (relation text, blocks bigint) language sql
as $$
    select c.relname::text, pg_stat_get_xact_blocks_fetched(c.oid) from pg_class as c
    where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'i', 'S')
$$;
create function pg_temp.count(call text, sign integer) returns void language sql
as $$ insert into counted select call, b.relation, sign * b.blocks from pg_temp.blocks() as b $$;
create function pg_temp.one_more(call text) returns void language sql
as $$ insert into counted values (call, null, 1) $$;
"""


def called(step: str) -> str:
    return step.split("pgbaton.")[1].split("(")[0]


def cycles(calls: list[str], first: int, last: int, counting: bool) -> str:
    body = ["perform pg_temp.pass('0.02 s')"]
    for step in calls:
        text = step.removesuffix(" |").removesuffix("|").rstrip("; ").strip()
        if counting and not step.endswith("|"):
            name = called(text)
            body += [
                f"perform pg_temp.count('{name}', -1)",
                text,
                f"perform pg_temp.count('{name}', 1)",
            ]
            body += [f"perform pg_temp.one_more('{name}')"]
        else:
            body.append(text)
        body.append("commit")
    lines = [
        "do $do$ declare n bigint; v_ids bigint[]; v_token bigint; begin",
        "select lease_token, array[lo] into v_token, v_ids from pgbaton.span",
        "where state = 'active' order by lo desc limit 1; commit;",
        f"for n in {first} .. {last} loop",
        *(f"{line};" for line in body),
        "end loop; end $do$",
    ]
    return "\n".join(lines)


def per_call(conn: psycopg.Connection) -> dict[str, tuple[float, dict[str, float]]]:
    found: dict[str, dict[str, float]] = defaultdict(dict)
    calls: dict[str, int] = {}
    for call, relation, blocks in conn.execute(
        "select call, relation, sum(blocks) from counted group by 1, 2 having sum(blocks) > 0"
    ):
        if relation is None:
            calls[call] = int(blocks)
        else:
            found[call][relation] = float(blocks)
    conn.execute("truncate counted")
    return {
        call: (
            sum(each.values()) / calls[call],
            {name: round(blocks / calls[call], 1) for name, blocks in each.items()},
        )
        for call, each in found.items()
    }


def test_each_call_of_producers_and_workers_is_counted() -> None:
    counted = {
        called(step) for _, calls, _ in WAYS.values() for step in calls if not step.endswith("|")
    }
    assert all(name in counted for calls in GROWS.values() for name in calls)
    for audience in ("producer", "worker"):
        named = {path.stem for path in (FUNCTIONS / audience).glob("*.sql")}
        assert named <= counted | set(NOT_COUNTED)


@pytest.mark.parametrize(
    ("way", "jobs"),
    [
        *((way, 1000) for way in QUICK),
        *(
            pytest.param(way, 20000, marks=[pytest.mark.proof, pytest.mark.timeout(1800)])
            for way in WAYS
        ),
    ],
)
def test_each_call_reads_as_much_as_at_the_beginning(dsn: str, way: str, jobs: int) -> None:
    once, calls, jobs_each = WAYS[way]
    with psycopg.connect(dsn, autocommit=True) as conn, psycopg.connect(dsn) as old:
        conn.execute("set clock.now = '2030-01-01 12:00+00'")
        conn.execute(SETUP)
        conn.execute("""
            do $$ declare t regclass; begin
                for t in
                    select oid from pg_class
                    where relnamespace = 'pgbaton'::regnamespace and relkind = 'r'
                loop
                    execute format('alter table %s set (autovacuum_enabled = false)', t);
                end loop;
            end $$
        """)
        conn.execute("select pgbaton.run_maintenance()")
        old.execute("set transaction isolation level repeatable read")
        old.execute("select count(*) from pgbaton.span")
        conn.execute(f"do $do$ begin {once}; end $do$".encode())

        def run(first: int, last: int, counting: bool = False) -> None:
            conn.execute(cycles(calls, first, last, counting).encode())

        def measure(after: int) -> dict[str, tuple[float, dict[str, float]]]:
            # Once in ten minutes a sweep reads everything: not among those that are counted.
            conn.execute(
                "select set_config('clock.now', (date_bin('10 minutes', pgbaton._now(), 'epoch')"
                " + interval '10 minutes 30 seconds')::text, false)"
            )
            run(after + 1, after + WINDOW)
            run(after + WINDOW + 1, after + 2 * WINDOW, counting=True)
            return per_call(conn)

        run(1, SETTLED)
        early = measure(SETTLED)
        end = SETTLED + 2 * WINDOW + jobs // jobs_each
        run(SETTLED + 2 * WINDOW + 1, end)
        late = measure(end)
        assert old.execute("select count(*) from pgbaton.span").fetchone() == (0,)
    grown = []
    for call, (blocks, each) in late.items():
        before, before_each = early[call]
        more = {
            name: (before_each.get(name, 0), n)
            for name, n in each.items()
            if n > before_each.get(name, 0) + 0.5
        }
        print(f"{way}: {call} {before:.1f} -> {blocks:.1f} ({blocks / before:.2f}) {more}")
        if blocks > 1.2 * before and call not in GROWS.get(way, {}):
            grown.append((call, before, blocks, more))
    assert grown == []
