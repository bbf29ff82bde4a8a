create or replace function pgbaton.list_workers()
returns setof pgbaton.worker_info
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_allowed constant integer[] := pgbaton._allowed_queues('monitor');
    v_sleepers_from constant bigint := pgbaton._sleepers_from();
begin
    return query
    with running as (
        select a.worker_id, a.queue_id, sum(a.hi - a.lo + 1)::bigint as jobs
        from pgbaton.held_span as a
        where (v_allowed is null or a.queue_id = any (v_allowed))
        group by a.worker_id, a.queue_id
    ), asleep as (
        select a.worker_id, min(a.asleep_at) as asleep_at
        from pgbaton.sleeper as a
        where a.id >= v_sleepers_from and a.asleep_until > pgbaton._now() - interval '2 seconds'
            and (v_allowed is null or a.queue_ids is null or a.queue_ids && v_allowed)
        group by a.worker_id
    )
    select
        i.worker_id, w.capacity, w.tags, w.started_at, w.heartbeat_at, coalesce(r.jobs, 0), s.asleep_at,
        pgbaton._now() - w.heartbeat_at
    from (
        select b.worker_id from pgbaton.worker as b
        union
        select b.worker_id from asleep as b
        union
        select b.worker_id from running as b
    ) as i
    left join pgbaton.worker as w
        on w.worker_id = i.worker_id and (v_allowed is null or w.queue_ids = '{}' or w.queue_ids && v_allowed)
    cross join lateral (
        select sum(o.jobs)::bigint as jobs from running as o
        where o.worker_id = i.worker_id and (coalesce(w.queue_ids, '{}') = '{}' or o.queue_id = any (w.queue_ids))
    ) as r
    left join asleep as s on s.worker_id = i.worker_id
    where v_allowed is null or r.jobs > 0 or w.queue_ids && v_allowed
    order by i.worker_id;
end;
$$;
comment on function pgbaton.list_workers() is
'Workers that sent a heartbeat within the last day, sleep or hold jobs now, and how many they hold. A narrowed role
gets those that hold jobs of its queues or are narrowed to them. A name comes once for each narrowing. asleep_at: since
when the worker waits to be notified. silent_for: the time since its last heartbeat, by the clock of the server. Reads
all leased jobs.';
