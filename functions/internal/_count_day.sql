create or replace function pgbaton._count_day(day date)
returns void
language plpgsql volatile
as $$
begin
    insert into pgbaton.job_count as c (queue_id, day, name, class, jobs, seconds)
    with failing as (
        select
            e.job_id, l.queue_id, j.singleton_key, count(*) as attempts, min(e.failed_at) as first_at,
            max(e.failed_at) as last_at
        from pgbaton.job_error as e
        inner join pgbaton.job as j on j.day = e.day and j.id = e.job_id
        inner join pgbaton.lane as l on l.id = j.lane_id
        where e.day = _count_day.day
        group by e.job_id, l.queue_id, j.singleton_key
    ), counted as (
        select
            h.queue_id, h.state::text as name, h.hi - h.lo + 1 as jobs,
            date_part('epoch', h.finished_at - h.claimed_at) as seconds
        from pgbaton.job_history as h
        where h.day = _count_day.day
        union all
        select f.queue_id, 'failed_attempt', f.attempts, 0 from failing as f
        union all
        -- A failed job of a queue that goes on without it let its key go at once.
        select
            f.queue_id, 'blocked', 1,
            date_part('epoch', case
                when h.state = 'failed' and q.on_exhausted = 'continue' then f.last_at
                else h.finished_at
            end - f.first_at)
        from failing as f
        inner join pgbaton.queue as q on q.id = f.queue_id and q.policy = 'fifo'
        inner join pgbaton.job_history as h on h.day = _count_day.day and h.lo = f.job_id
        where f.singleton_key is not null
    )
    select
        c.queue_id, _count_day.day, c.name, coalesce(width_bucket(c.seconds, pgbaton._class_bounds()), -1),
        sum(c.jobs), coalesce(sum(c.jobs * c.seconds), 0)
    from counted as c
    inner join pgbaton.queue as q on q.id = c.queue_id  -- not one that was dropped
    group by 1, 2, 3, 4
    on conflict on constraint job_count_pkey do update
    set jobs = greatest(c.jobs, excluded.jobs), seconds = greatest(c.seconds, excluded.seconds)
    where (c.jobs, c.seconds) is distinct from (excluded.jobs, excluded.seconds);
end;
$$;
comment on function pgbaton._count_day(date) is
'Counts the jobs that were enqueued on a day and have ended, and their failures, for job_totals. What was counted
before and is not there any more stays counted.';
