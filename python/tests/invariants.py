"""What must hold of the tables of pgbaton whenever nobody has a transaction open."""

from __future__ import annotations

from typing import Any, LiteralString

import psycopg

# Each query returns the rows that break its rule.
RULES: dict[str, LiteralString] = {
    "live spans do not overlap": """
        select n.* from (
            select s.lo, s.hi, lead(s.lo) over (order by s.lo) as next_lo from pgbaton.span as s
        ) as n
        where n.next_lo <= n.hi
    """,
    "a span stands for 1 to 64 jobs, with a key for one unless they wait and never ran": """
        select s.lo, s.hi, s.state, s.singleton_key from pgbaton.span as s
        where s.hi < s.lo or s.hi - s.lo >= 64 or (
            s.singleton_key is not null and s.hi > s.lo
            and (s.state <> 'waiting' or s.claimed_at is not null or s.attempt > 0)
        )
    """,
    "only what waits to run is ready": """
        select s.lo, s.hi, s.state, s.ready from pgbaton.span as s
        where s.ready and s.state not in ('pending', 'retry', 'unknown_retry')
    """,
    "no two jobs of a key stand at the same place": """
        select n.* from (
            select s.lo, s.hi, s.key_position, lead(s.lo) over w as next_lo,
                lead(s.key_position) over w as next_place
            from pgbaton.span as s
            where s.key_position is not null
            window w as (partition by s.queue_id, s.singleton_key order by s.key_position, s.lo)
        ) as n
        where n.next_place <= n.key_position + (n.hi - n.lo)
    """,
    "a span stands where its state and the policy of its queue say": """
        select s.lo, s.hi, s.tableoid::regclass, s.state, s.ready, q.policy
        from pgbaton.span as s
        inner join pgbaton.queue as q on q.id = s.queue_id
        where s.ready and (q.policy = 'standard')
            <> (s.tableoid = 'pgbaton.ready_span'::regclass)
            or (not s.ready and s.tableoid = 'pgbaton.ready_span'::regclass)
            or (s.tableoid = 'pgbaton.leased_span'::regclass
                and (s.lease_until is null or q.policy <> 'standard'))
    """,
    "a job lives in exactly one place": """
        select coalesce(j.id, p.id), count(p.id) from pgbaton.job as j
        full join (
            select g.id from (
                select lo, hi from pgbaton.span
                union all select lo, hi from pgbaton.job_history
                union all select unnest(c.los), unnest(c.his) from pgbaton.spark_chunk as c
            ) as s cross join lateral generate_series(s.lo, s.hi) as g (id)
        ) as p on p.id = j.id
        -- Of a queue that was dropped what ended goes with its day.
        where p.id is not null or exists (select from pgbaton.lane as l where l.id = j.lane_id)
        group by j.id, p.id having count(j.id) <> 1 or count(p.id) <> 1
    """,
    "a span stands for jobs that exist, of its lane, day and key": """
        select s.lo, s.hi from pgbaton.span as s
        where s.hi - s.lo + 1 <> (
            select count(*) from pgbaton.job as j
            where j.day = s.day and j.id between s.lo and s.hi and j.lane_id = s.lane_id
                and j.singleton_key is not distinct from nullif(s.singleton_key, '')
        )
    """,
    "in a FIFO queue whoever is neither waiting nor let go holds its key": """
        select s.lo, s.state, s.held_key from pgbaton.span as s
        inner join pgbaton.queue as q on s.queue_id = q.id
        where q.policy not in ('singleton', 'stately') and s.held_key is distinct from case
            when q.policy = 'fifo' and s.state <> 'waiting'
                and (s.state <> 'failed' or q.on_exhausted = 'block') then s.singleton_key
        end
        -- The next claim has those that failed let go of their keys.
        and not (s.state = 'failed' and exists (
            select from pgbaton.baton_release as r
            where r.queue_id = s.queue_id and r.singleton_key is null
        ))
    """,
    "of the policies singleton and stately whoever runs or may run holds its key": """
        select s.lo, s.state, s.held_key from pgbaton.span as s
        where s.policy in ('singleton', 'stately') and (
            -- Or runs beside the holder, under a key_limit.
            (s.held_key is null and coalesce(s.slot >= -100, true)
                and (s.ready or s.state in ('active', 'cancelling')))
            or (s.held_key is not null and s.state in ('waiting', 'failed'))
            or s.held_key <> s.singleton_key
        )
    """,
    "a key has one holder": """
        select queue_id, held_key from pgbaton.span where held_key is not null
        group by queue_id, held_key having count(*) > 1
    """,
    "a key with waiting jobs has a holder or a release row": """
        select w.lo, w.singleton_key from pgbaton.span as w
        where w.state = 'waiting' and not exists (
            select from pgbaton.span as h
            where h.queue_id = w.queue_id and h.held_key = w.singleton_key
        ) and not pgbaton._is_full(w.queue_id, w.singleton_key) and not exists (
            select from pgbaton.baton_release as r
            where r.queue_id = w.queue_id and r.singleton_key = w.singleton_key
        )
    """,
    "a span takes of its key what its state says": """
        select s.lo, s.policy, s.state, s.held_key, s.slot from pgbaton.span as s
        where s.slot is distinct from
            pgbaton._slot(s.policy, s.state, s.claimed_at, s.attempt, s.held_key, s.lo)
            and not (coalesce(s.slot < -100, false) and s.held_key is null
                and s.policy = 'singleton' and s.state in ('active', 'cancelling'))
    """,
    "each job that runs has a place under the limit of its queue, and nobody else has": """
        select l.queue_id, l.size, u.places, r.jobs from pgbaton.queue_limit as l
        cross join lateral (
            select count(*) filter (where p.used > 0) as places
            from pgbaton._permits(l, pgbaton._now()) as p
        ) as u
        cross join lateral (
            select coalesce(sum(s.hi - s.lo + 1), 0) as jobs from pgbaton.held_span as s
            where s.queue_id = l.queue_id
        ) as r
        where l.kind = 'running' and u.places <> r.jobs
    """,
    "who may start of a key has a place under its limit": """
        select s.lo, s.state from pgbaton.span as s
        where s.policy = 'singleton' and s.held_key is not null
            and s.state not in ('active', 'cancelling')
            and pgbaton._is_full(s.queue_id, s.singleton_key)
    """,
    "ready means claimable; what is not ready waits for its time": """
        select s.lo, s.state, s.ready, s.run_at from pgbaton.span as s
        where (s.ready and coalesce(s.run_at > pgbaton._now(), false))
            or (not s.ready and s.state in ('pending', 'retry', 'unknown_retry')
                and s.run_at is null and not exists (
                    select from pgbaton.paused_key as p
                    where p.queue_id = s.queue_id and p.singleton_key = s.held_key
                ))
    """,
    "a failed job waits for no time": """
        select s.lo, s.ready, s.run_at from pgbaton.span as s
        where s.state = 'failed' and (s.ready or s.run_at is not null)
    """,
    "only a leased span has a token, or one that was recovered": """
        select s.lo, s.state, s.lease_token, s.lease_until from pgbaton.span as s
        where (s.state in ('active', 'cancelling')) <> (s.lease_until is not null)
            or (s.lease_until is not null and s.lease_token is null)
            or (s.lease_token is not null
                and s.state not in ('active', 'cancelling', 'unknown_retry'))
    """,
}

# Not in RULES: it needs a claim or a maintenance run to have passed since the last change.
UNREACHABLE: LiteralString = """
    select s.lo, s.position from pgbaton.span as s
    where s.ready and s.position < (
        select max(w.value) from pgbaton.watermark as w
        where w.kind = 'lane' and w.lane_id = s.lane_id
    ) and not exists (
        select from pgbaton.rewind as r
        where r.lane_id = s.lane_id and r.position <= s.position
    )
"""


def assert_sound(conn: psycopg.Connection[Any]) -> None:
    """Fails with the first rule that does not hold and the rows that break it."""
    conn.execute("set jit = off")  # compiling these takes longer than running them
    for rule, query in RULES.items():
        broken = conn.execute(query).fetchall()
        assert not broken, f"{rule}: broken by {broken}"


def empty_public(conn: psycopg.Connection[Any]) -> None:
    """Leaves nothing of earlier tests in schema public."""
    conn.execute("""
        drop schema public cascade;
        create schema public authorization pg_database_owner;
        grant usage on schema public to public;
    """)


def empty(conn: psycopg.Connection[Any]) -> None:
    """Leaves tables without rows, sequences at their start, and a partition for each day."""
    conn.execute("""
        do $$
        declare
            v_table regclass;
            v_parent text;
            v_day date;
        begin
            for v_table in
                select c.oid from pg_class as c
                where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'p')
                    and not c.relispartition
                order by c.relname = 'queue'  -- the others refer to it
            loop
                execute format('delete from %s', v_table);
            end loop;
            perform setval(s.seqrelid, s.seqstart, false) from pg_sequence as s
            inner join pg_class as c on c.oid = s.seqrelid
            where c.relnamespace = 'pgbaton'::regnamespace;
            -- A test that moved its clock on may have dropped that of today.
            for v_parent, v_day in
                select t.name, pgbaton._day(pgbaton._now()) + d.ahead
                from unnest(array['job', 'job_history', 'job_report', 'job_error']) as t (name)
                cross join generate_series(0, 3) as d (ahead)
                where not pgbaton._is_extension()
            loop
                continue when to_regclass(
                    format('pgbaton.%I', v_parent || to_char(v_day, '_YYYYMMDD'))
                ) is not null;
                perform pgbaton._add_day(v_parent, v_day);
            end loop;
        end
        $$
    """)
