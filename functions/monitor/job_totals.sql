create or replace function pgbaton.job_totals(queue text default null, max_age interval default '1 minute')
returns setof pgbaton.job_total
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'monitor');
    v_classes constant integer := cardinality(pgbaton._class_bounds());
    v_counted_at timestamptz;
begin
    perform pgbaton._check_duration('max_age', max_age);
    perform pgbaton._count_days(coalesce(max_age, '1 minute'));
    select d.counted_at into v_counted_at from pgbaton.counted_day as d where d.day = '-infinity';
    return query
    with counted as (
        select
            c.queue_id, c.name, c.class, sum(c.jobs)::bigint as jobs, sum(c.seconds) as seconds,
            c.name not in ('failed_attempt', 'blocked', 'waited', 'enqueued') and c.class >= 0 as has_run
        from pgbaton.job_count as c
        where v_queue_ids is null or c.queue_id = any (v_queue_ids)
        group by c.queue_id, c.name, c.class
    ), by_class as (
        select
            q.id, n.class,
            coalesce(sum(c.jobs) filter (where c.has_run), 0)::bigint as run,
            coalesce(sum(c.jobs) filter (where c.name = 'blocked'), 0)::bigint as blocked,
            coalesce(sum(c.jobs) filter (where c.name = 'waited'), 0)::bigint as waited
        from pgbaton.queue as q
        cross join generate_series(0, v_classes) as n (class)
        left join counted as c on c.queue_id = q.id and c.class = n.class
        group by q.id, n.class
    ), histogram as (
        select
            b.id, array_agg(b.run order by b.class) as run, array_agg(b.blocked order by b.class) as blocked,
            array_agg(b.waited order by b.class) as waited
        from by_class as b
        group by b.id
    )
    select
        q.name, v_counted_at,
        coalesce(sum(c.jobs) filter (where c.name = 'enqueued'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.name = 'completed'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.name = 'failed'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.name = 'stopped'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.name = 'unscheduled'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.name = 'unknown_stopped'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.name = 'failed_attempt'), 0)::bigint,
        pgbaton._class_bounds(),
        h.run, coalesce(sum(c.seconds) filter (where c.has_run), 0),
        h.blocked, coalesce(sum(c.seconds) filter (where c.name = 'blocked'), 0),
        coalesce((select sum(l.jobs) from pgbaton.lease_loss as l where l.queue_id = q.id), 0)::bigint,
        h.waited, coalesce(sum(c.seconds) filter (where c.name = 'waited'), 0)
    from pgbaton.queue as q
    inner join histogram as h on h.id = q.id
    left join counted as c on c.queue_id = q.id
    where v_queue_ids is null or q.id = any (v_queue_ids)
    group by q.id, h.run, h.blocked, h.waited
    order by q.name;
end;
$$;
comment on function pgbaton.job_totals(text, interval) is
'What each queue (or the named one) has done so far: jobs enqueued, jobs ended by state, failed attempts, lost leases,
and histograms of run times, of how long jobs waited to be claimed, and of how long failing jobs blocked their keys.

It is for counters of a monitoring system: they never go down. They are counted from the history that retention keeps,
so the first call must come before a day is dropped, and jobs that delete_jobs removes before they were counted are
missing. Only lease_losses is counted at once and is always up to date.
max_age: how old the answer may be. Counting reads the days in which something changed, at most a twentieth of the
time, and the live jobs.
Raises PB001, 22004 or 22023.';
