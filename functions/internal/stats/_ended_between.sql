create or replace function pgbaton._ended_between(after jsonb, until jsonb)
returns table (
    lo bigint, hi bigint, day date, queue_id integer, lane_id integer, state pgbaton.job_state, resolution text,
    attempt integer, run_at timestamptz, claimed_at timestamptz, started_at timestamptz, ended_at timestamptz,
    worker_id text
)
language sql stable
as $$
    select
        e.lo, e.hi, e.day, e.queue_id, e.lane_id, e.state, e.resolution, e.attempt, e.run_at, e.claimed_at,
        e.started_at, e.ended_at, e.worker_id
    from (
        -- A row with an xid from here on was written after the clock showed this, give or take an hour for a clock that
        -- was set back: an older one is one whose xmin looks younger than it is.
        select
            (after ->> 'xid')::bigint as first_xid,
            coalesce(to_timestamp((after ->> 'at')::numeric / 1000000 - 3600), '-infinity') as first_at,
            (until ->> 'xid')::bigint as end_xid,
            to_timestamp((until ->> 'at')::numeric / 1000000 - 3600) as end_at,
            pgbaton._next_xid() as next_xid
        offset 0
    ) as b
    cross join lateral (
        select
            h.lo, h.hi, h.day, h.queue_id, h.lane_id, h.state, h.resolution, h.attempt, h.run_at, h.claimed_at,
            h.started_at, h.finished_at as ended_at, h.worker_id,
            coalesce(h.first_xid::text::bigint, pgbaton._xid_of(h.xmin, b.next_xid)) as xid
        from pgbaton.job_history as h
        where h.finished_at >= b.first_at
        union all
        -- Not the xmin of the span, which may be written anew while the job stays failed.
        select
            s.lo, s.hi, s.day, s.queue_id, s.lane_id, s.state, null, s.attempt, s.run_at, s.claimed_at,
            s.started_at, s.changed_at, s.worker_id,
            coalesce(f.first_xid::text::bigint, pgbaton._xid_of(f.xmin, b.next_xid))
        from pgbaton.queue as q
        -- Those that failed last of each queue, as the index has them.
        cross join lateral (
            select n.* from only pgbaton.span as n
            where n.queue_id = q.id and n.state = 'failed' and not n.ready and n.run_at is null
                and n.changed_at >= b.first_at
            offset 0
        ) as s
        cross join lateral (
            select n.first_xid, n.xmin from pgbaton.job_error as n
            where n.job_id = s.lo and n.day = s.day and n.attempt = s.attempt and n.failed_at = s.changed_at
            offset 0
        ) as f
    ) as e
    where (b.first_xid is null or e.xid >= b.first_xid)
        and (e.xid < b.end_xid or coalesce(e.ended_at < b.end_at, false))
$$;
comment on function pgbaton._ended_between(jsonb, jsonb) is
'The spans that ended, and the failed ones, between two offsets of ended_jobs_offset: those written by
transactions from the first up to the second. No search_path, so that it inlines.';
