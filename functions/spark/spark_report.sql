create or replace function pgbaton.spark_report(run_id text)
returns setof pgbaton.run_report
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_queue_ids constant integer[] := pgbaton._require_run(run_id);
begin
    return query
    with enqueued as materialized (
        select g.queue_id, sum(g.jobs)::bigint as jobs from pgbaton.enqueue_range as g
        where g.run_id = spark_report.run_id and (v_queue_ids is null or g.queue_id = any (v_queue_ids))
        group by g.queue_id
    ), spans as materialized (
        select s.*, s.hi - s.lo + 1 as jobs, pgbaton._run_class(s.state) as class
        from pgbaton._run_spans(run_id, v_queue_ids, 0, 9223372036854775807) as s
    ), counted as (
        select
            s.queue_id,
            sum(s.jobs)::bigint as jobs,
            coalesce(sum(s.jobs) filter (where s.class = 'waiting'), 0)::bigint as waiting,
            coalesce(sum(s.jobs) filter (where s.class = 'running'), 0)::bigint as running,
            coalesce(sum(s.jobs) filter (where s.class = 'failed'), 0)::bigint as failed,
            coalesce(sum(s.jobs) filter (where s.class = 'completed'), 0)::bigint as completed,
            coalesce(sum(s.jobs) filter (where s.class = 'stopped'), 0)::bigint as stopped
        from spans as s group by s.queue_id
    ), taken as (
        -- Each span counts for its jobs: the first at which 95 of 100 are reached.
        select p.queue_id, min(p.took) as took
        from (
            select
                s.queue_id, s.ended_at - s.claimed_at as took,
                sum(s.jobs) over (partition by s.queue_id order by s.ended_at - s.claimed_at) as reached,
                sum(s.jobs) over (partition by s.queue_id) as jobs
            from spans as s where s.class = 'completed' and s.claimed_at is not null
        ) as p
        where p.reached >= 0.95 * p.jobs
        group by p.queue_id
    ), errors as (
        select
            o.queue_id,
            jsonb_agg(
                jsonb_build_object('error', o.error, 'jobs', o.jobs) order by o.jobs desc, o.error
            ) as errors
        from (
            select
                s.queue_id, left(e.last_error, 200) as error, count(*) as jobs,
                row_number() over (partition by s.queue_id order by count(*) desc, left(e.last_error, 200)) as place
            from spans as s
            cross join lateral generate_series(s.lo, s.hi) as i (id)
            left join lateral (
                select n.last_error from pgbaton.job_report as n where n.job_id = i.id and n.day = s.day offset 0
            ) as e on true
            where s.class = 'failed'
            group by 1, 2
        ) as o
        where o.place <= 20
        group by o.queue_id
    )
    select
        q.name, e.jobs, coalesce(c.waiting, 0), coalesce(c.running, 0), coalesce(c.failed, 0),
        coalesce(c.completed, 0), coalesce(c.stopped, 0), e.jobs - coalesce(c.jobs, 0), t.took,
        coalesce(o.errors, '[]')
    from enqueued as e
    left join lateral (select n.name from pgbaton.queue as n where n.id = e.queue_id offset 0) as q on true
    left join counted as c on c.queue_id = e.queue_id
    left join taken as t on t.queue_id = e.queue_id
    left join errors as o on o.queue_id = e.queue_id
    order by q.name;
end;
$$;
comment on function pgbaton.spark_report(text) is
'How far one of the caller''s runs is: a row for each queue that got jobs of it. Reads the jobs of the run that are
still there.
Raises 42704 (no such run), 22004 or 22023.';
