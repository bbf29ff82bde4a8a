create or replace function pgbaton.spark_unended(run_id text, after bigint default 0)
returns bigint
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_queue_ids constant integer[] := pgbaton._require_run(run_id);
    v_range pgbaton.enqueue_range;
    v_looked integer := 0;
begin
    for v_range in
        select g.* from pgbaton.enqueue_range as g
        where g.run_id = spark_unended.run_id and g.lo >= after
            and (v_queue_ids is null or g.queue_id = any (v_queue_ids))
        order by g.lo
    loop
        v_looked := v_looked + 1;
        if v_looked > 1000 or exists (
            select from unnest(v_range.los, v_range.his) as r (lo, hi)
            cross join lateral (
                select from pgbaton.span as s
                where pgbaton._overlaps(s.lo, s.hi, r.lo, r.hi) and s.state <> 'failed'
                limit 1
            ) as s
        ) then
            return v_range.lo;
        end if;
    end loop;
    return null;
end;
$$;
comment on function pgbaton.spark_unended(text, bigint) is
'Whether jobs of one of the caller''s runs wait or run: null when all have ended, as job_outcomes sees it, otherwise
the place from which on to look again, to be passed as after. One call looks at 1,000 statements or chunks at most, and
then returns the next place.
Raises 42704 (no such run), 22004 or 22023.';
