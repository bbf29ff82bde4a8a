create or replace function pgbaton.list_jobs(job_ids bigint[])
returns setof pgbaton.listed_job
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_allowed constant integer[] := pgbaton._allowed_queues('monitor');
begin
    perform pgbaton._check_ids(job_ids);
    return query
    select
        i.id, q.name, l.job_type, l.tags, l.priority, j.singleton_key, r.state, r.resolution, r.attempt,
        coalesce((j.options).max_attempts, q.max_attempts) + coalesce(r.extra_attempts, 0),
        j.created_at, r.run_at, r.claimed_at, r.started_at, r.ended_at, r.worker_id,
        (
            select pgbaton._shortened(n.last_error, 1000) from pgbaton.job_report as n
            where n.job_id = i.id and n.day = r.day
        ),
        r.holds_key
    from unnest(job_ids) with ordinality as i (id, ordinal)
    -- Each by its key, whatever the statistics say.
    cross join lateral (
        select
            s.day, s.queue_id, s.lane_id, s.state, null as resolution, s.attempt, s.extra_attempts, case
                when s.run_at < 'infinity' then s.run_at
                else (select n.run_at from pgbaton.job_wait as n where n.child_id = i.id limit 1)
            end as run_at, s.claimed_at,
            s.started_at, case when s.state = 'failed' then s.changed_at end as ended_at, s.worker_id,
            s.held_key is not null as holds_key
        from pgbaton.span as s
        where pgbaton._covers(s.lo, s.hi, i.id)
        union all
        select
            h.day, h.queue_id, h.lane_id, h.state, h.resolution, h.attempt, h.extra_attempts, h.run_at, h.claimed_at,
            h.started_at, h.finished_at, h.worker_id, false
        from pgbaton.job_history as h
        where pgbaton._covers(h.lo, h.hi, i.id)
        offset 0
    ) as r
    cross join lateral (
        select n.name, n.max_attempts from pgbaton.queue as n where n.id = r.queue_id offset 0
    ) as q
    cross join lateral (select n.* from pgbaton.lane as n where n.id = r.lane_id offset 0) as l
    cross join lateral (
        select n.singleton_key, n.options, n.created_at from pgbaton.job as n
        where n.id = i.id and n.day = r.day offset 0
    ) as j
    where v_allowed is null or r.queue_id = any (v_allowed)
    order by i.ordinal;
end;
$$;
comment on function pgbaton.list_jobs(bigint[]) is
'These jobs, live or ended, in the given order, without their payloads; jobs that do not exist are left out. It is for
the ids that find_jobs found. Raises 22004 or 2202E.';
