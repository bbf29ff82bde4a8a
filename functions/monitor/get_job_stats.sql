create or replace function pgbaton.get_job_stats(tags text[] default '{}')
returns pgbaton.job_stats
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set jit = off
as $$
declare
    v_tags constant text[] := pgbaton._normal_tags(tags);
    v_allowed constant integer[] := pgbaton._allowed_queues('monitor');
    v_stats pgbaton.job_stats;
begin
    select
        v_tags,
        coalesce(sum(c.jobs), 0),
        coalesce(sum(c.jobs) filter (where c.state in ('waiting', 'pending')), 0),
        coalesce(sum(c.jobs) filter (where c.state in ('active', 'cancelling')), 0),
        coalesce(sum(c.jobs) filter (where c.state = 'completed'), 0),
        coalesce(sum(c.jobs) filter (where c.is_final and c.state <> 'completed'), 0),
        coalesce(sum(c.jobs) filter (where not c.is_final and c.state in ('retry', 'unknown_retry', 'failed')), 0),
        (
            select coalesce(sum(r.retry_count), 0)
            from pgbaton.job_report as r
            cross join lateral (
                select k.lane_id from pgbaton.job as k where k.id = r.job_id and k.day = r.day offset 0
            ) as j
            inner join pgbaton.lane as l on l.id = j.lane_id
            where r.retry_count > 0 and l.tags @> v_tags
                and (v_allowed is null or l.queue_id = any (v_allowed))
        )
    into v_stats
    from (
        select s.state, s.lane_id, s.hi - s.lo + 1 as jobs, false as is_final from pgbaton.span as s
        union all
        select h.state, h.lane_id, h.hi - h.lo + 1, true from pgbaton.job_history as h
    ) as c
    inner join pgbaton.lane as l on l.id = c.lane_id
    where l.tags @> v_tags and (v_allowed is null or l.queue_id = any (v_allowed));
    return v_stats;
end;
$$;
comment on function pgbaton.get_job_stats(text[]) is
'Counts of the jobs, live and ended, that carry all of the tags ({}: all jobs). Reads all live jobs and the history
that retention keeps; live_stats and job_totals read less, and count by queue. Raises 2202E, 22004 or 22023.';
