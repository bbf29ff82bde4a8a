create or replace function pgbaton.blocked_keys(queue text default null, include_busy boolean default false)
returns setof pgbaton.blocked_key
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'operate');
begin
    return query
    select
        q.name, s.held_key, s.lo, s.state,
        coalesce(s.changed_at, s.claimed_at, j.created_at),
        s.attempt, r.last_error, w.jobs,
        case when s.state in ('pending', 'retry', 'unknown_retry') then nullif(s.run_at, 'infinity') end
    from pgbaton.queue as q
    cross join lateral (
        select n.* from only pgbaton.span as n
        where n.queue_id = q.id and n.slot is not null and n.held_key is not null
            and (n.state = 'failed' or include_busy or (n.state = 'retry' and not n.ready))
        offset 0
    ) as s
    cross join lateral (
        select coalesce(sum(n.hi - n.lo + 1), 0)::bigint as jobs from only pgbaton.span as n
        where n.queue_id = s.queue_id and n.singleton_key = s.held_key and n.state = 'waiting'
        offset 0
    ) as w
    cross join lateral (
        select k.created_at from pgbaton.job as k where k.id = s.lo and k.day = s.day offset 0
    ) as j
    left join lateral (
        select n.last_error from pgbaton.job_report as n where n.job_id = s.lo and n.day = s.day offset 0
    ) as r on true
    where v_queue_ids is null or q.id = any (v_queue_ids)
    order by 5, 3;
end;
$$;
comment on function pgbaton.blocked_keys(text, boolean) is
'Keys that are held by a job that failed or waits to be retried, the longest first: which job, since when, after how
many attempts, with what error, how many jobs wait behind it, and when it runs again (null: not by itself). queue: null
is all.
include_busy: also keys whose job is running or about to run. Reads the holders of all keys of the queue, and the jobs
that wait behind those that it returns; get_blocked_keys reads failed jobs only. Raises PB001.';
