create or replace function pgbaton.spark_ranges(run_id text, jobs_per_range bigint default 50000)
returns setof pgbaton.id_range
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
    if (jobs_per_range >= 1) is not true then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('jobs_per_range is %s', coalesce(jobs_per_range::text, 'null')),
            hint = 'Pass at least 1, or leave it out.';
    end if;
    return query
    select min(p.lo), max(p.lo), sum(p.jobs)::bigint
    from (
        select g.lo, g.jobs, (sum(g.jobs) over (order by g.lo) - 1) / jobs_per_range as place
        from pgbaton.enqueue_range as g
        where g.run_id = spark_ranges.run_id and (v_queue_ids is null or g.queue_id = any (v_queue_ids))
    ) as p
    group by p.place
    order by 1;
end;
$$;
comment on function pgbaton.spark_ranges(text, bigint) is
'Cuts one of the caller''s runs into ranges of about jobs_per_range jobs, for spark_outcomes to read side by side; a
statement or chunk that enqueued more is one range. Reads a row for each statement that enqueued rows of the run.
Raises 42704 (no such run), 22004 or 22023.';
