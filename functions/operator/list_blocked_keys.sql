create or replace function pgbaton.list_blocked_keys(job_ids bigint[])
returns setof pgbaton.blocked_key
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_allowed constant integer[] := pgbaton._allowed_queues('operate');
begin
    perform pgbaton._check_ids(job_ids);
    return query
    select
        q.name, s.held_key, s.lo, s.state, s.changed_at, s.attempt, r.last_error, w.jobs,
        case when s.state = 'retry' then nullif(s.run_at, 'infinity') end
    from unnest(job_ids) with ordinality as i (id, ordinal)
    cross join lateral (
        select n.* from only pgbaton.span as n
        where n.lo = i.id and n.held_key is not null and n.state in ('failed', 'retry') and not n.ready
        offset 0
    ) as s
    cross join lateral (select n.name from pgbaton.queue as n where n.id = s.queue_id offset 0) as q
    cross join lateral (
        select coalesce(sum(n.jobs), 0)::bigint as jobs
        from (
            select n.hi - n.lo + 1 as jobs from only pgbaton.span as n
            where n.queue_id = s.queue_id and n.singleton_key = s.held_key and n.state = 'waiting'
            limit 1000
        ) as n
    ) as w
    left join lateral (
        select n.last_error from pgbaton.job_report as n where n.job_id = s.lo and n.day = s.day offset 0
    ) as r on true
    where v_allowed is null or s.queue_id = any (v_allowed)
    order by i.ordinal;
end;
$$;
comment on function pgbaton.list_blocked_keys(bigint[]) is
'The keys that these jobs block, in the given order, as blocked_keys shows them; jobs that block none are left out. It
is for the ids that find_blocked_keys found. At most 1,000 rows of waiting jobs are counted for each key, so a
waiting_count of 1,000 or more may be higher in truth. Raises 22004 or 2202E.';
