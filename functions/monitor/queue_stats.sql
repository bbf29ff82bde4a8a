create or replace function pgbaton.queue_stats(queue text default null)
returns setof pgbaton.queue_stat
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'monitor');
begin
    return query
    select
        q.name,
        coalesce(sum(c.jobs) filter (where c.doing = 'pending'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.doing = 'scheduled'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.doing = 'waiting'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.doing = 'processing'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.doing = 'retrying'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.doing = 'failed'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.doing = 'completed'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.doing <> 'completed'), 0)::bigint,
        v_now - min(j.created_at)
    from pgbaton.queue as q
    left join (
        select
            s.queue_id,
            case
                when s.state = 'pending' and coalesce(s.run_at > v_now, false) then 'scheduled'
                when s.state in ('active', 'cancelling') then 'processing'
                when s.state in ('retry', 'unknown_retry') then 'retrying'
                else s.state::text
            end as doing,
            sum(s.hi - s.lo + 1) as jobs,
            (array_agg(s.lo order by s.position) filter (where s.ready))[1] as oldest_ready
        from pgbaton.span as s
        where v_queue_ids is null or s.queue_id = any (v_queue_ids)
        group by 1, 2
        union all
        select h.queue_id, 'completed', sum(h.hi - h.lo + 1), null
        from pgbaton.job_history as h
        where h.state = 'completed' and (v_queue_ids is null or h.queue_id = any (v_queue_ids))
        group by 1
    ) as c on c.queue_id = q.id
    left join pgbaton.job as j on j.id = c.oldest_ready
    where v_queue_ids is null or q.id = any (v_queue_ids)
    group by q.name
    order by q.name;
end;
$$;
comment on function pgbaton.queue_stats(text) is
'One row for each queue (or the named one): its jobs by what they are doing, and the age of the job that is
next.
Raises PB001.';
