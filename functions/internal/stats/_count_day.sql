create or replace function pgbaton._count_day(day date)
returns void
language plpgsql volatile
as $$
begin
    insert into pgbaton.job_count as c (queue_id, day, name, class, jobs, seconds)
    with failing as (
        select
            e.job_id, l.queue_id, j.singleton_key, e.attempts, e.first_at, e.last_at
        from (
            select n.job_id, count(*) as attempts, min(n.failed_at) as first_at, max(n.failed_at) as last_at
            from pgbaton.job_error as n
            where n.day = _count_day.day
            group by n.job_id
        ) as e
        -- Each by its key, whatever the statistics say.
        cross join lateral (
            select k.lane_id, k.singleton_key from pgbaton.job as k
            where k.day = _count_day.day and k.id = e.job_id
            offset 0
        ) as j
        cross join lateral (select n.queue_id from pgbaton.lane as n where n.id = j.lane_id offset 0) as l
    ), counted as (
        select
            h.queue_id, h.state::text as name, h.hi - h.lo + 1 as jobs,
            date_part('epoch', h.finished_at - h.claimed_at) as seconds
        from pgbaton.job_history as h
        where h.day = _count_day.day
        union all
        -- Of neighbours that ended together the first: their payloads are not read for it.
        select
            h.queue_id, 'waited', h.hi - h.lo + 1,
            greatest(date_part('epoch', h.claimed_at - greatest(j.created_at, h.run_at)), 0)
        from pgbaton.job_history as h
        cross join lateral (
            select n.created_at from pgbaton.job as n where n.day = _count_day.day and n.id = h.lo offset 0
        ) as j
        where h.day = _count_day.day and h.claimed_at is not null
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
        cross join lateral (
            select n.policy, n.on_exhausted from pgbaton.queue as n where n.id = f.queue_id offset 0
        ) as q
        cross join lateral (
            select n.state, n.finished_at from pgbaton.job_history as n
            where n.day = _count_day.day and n.lo = f.job_id
            offset 0
        ) as h
        where f.singleton_key is not null and q.policy = 'fifo'
    )
    select
        c.queue_id, _count_day.day, c.name, coalesce(width_bucket(c.seconds, pgbaton._class_bounds()), -1),
        sum(c.jobs), coalesce(sum(c.jobs * c.seconds), 0)
    from counted as c
    where exists (select from pgbaton.queue as q where q.id = c.queue_id offset 0)  -- not one that was dropped
    group by 1, 2, 3, 4
    on conflict on constraint job_count_pkey do update
    set jobs = greatest(c.jobs, excluded.jobs), seconds = greatest(c.seconds, excluded.seconds)
    where (c.jobs, c.seconds) is distinct from (excluded.jobs, excluded.seconds);
end;
$$;
comment on function pgbaton._count_day(date) is
'Counts the jobs that were enqueued on a day and have ended, how long they waited, and their failures, for job_totals.
What was counted before and is not there any more stays counted.';
