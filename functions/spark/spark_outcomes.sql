create or replace function pgbaton.spark_outcomes(
    run_id text, first_id bigint default 0, last_id bigint default 9223372036854775807
)
returns setof pgbaton.run_outcome
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
    with asked as materialized (
        select g.queue_id, g.part, i.id
        from pgbaton.enqueue_range as g
        cross join lateral unnest(g.los, g.his) as r (lo, hi)
        cross join lateral generate_series(r.lo, r.hi) as i (id)
        where g.run_id = spark_outcomes.run_id and g.lo between first_id and last_id
            and (v_queue_ids is null or g.queue_id = any (v_queue_ids))
    ), found as materialized (
        select s.*, i.id
        from pgbaton._run_spans(run_id, v_queue_ids, first_id, last_id) as s
        cross join lateral generate_series(s.lo, s.hi) as i (id)
    )
    select
        a.id, q.name, a.part, j.singleton_key, j.payload, f.state, f.resolution, f.attempt, f.claimed_at, f.ended_at,
        e.last_error, e.result
    from asked as a
    left join found as f on f.id = a.id
    left join lateral (select n.name from pgbaton.queue as n where n.id = a.queue_id offset 0) as q on true
    left join lateral (
        select n.singleton_key, n.payload from pgbaton.job as n where n.id = a.id and n.day = f.day offset 0
    ) as j on true
    left join lateral (
        select n.last_error, n.result from pgbaton.job_report as n where n.job_id = a.id and n.day = f.day offset 0
    ) as e on true
    order by a.id;
end;
$$;
comment on function pgbaton.spark_outcomes(text, bigint, bigint) is
'What became of the jobs of one of the caller''s runs: one row for each, in the order of their ids; all, or those of a
range that spark_ranges returned. A job that waits or runs has no ended_at. A state of null means that the job is gone
with its retention, or deleted.
Raises 42704 (no such run), 22004 or 22023.';
