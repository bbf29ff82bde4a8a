create or replace function pgbaton.spark_gc()
returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_now constant timestamptz := pgbaton._now();
begin
    perform pgbaton._forget_runs(v_now, pgbaton._old_runs(v_now));
    return pgbaton._drop_chunks(pgbaton._old_chunks(v_now));
end;
$$;
comment on function pgbaton.spark_gc() is
'Drops rows that were staged more than a day ago, and forgets runs that ended more than 30 days ago, or that were begun
then and never came; sent again, they are enqueued again. It does a bounded amount of work and never waits;
run_maintenance calls it. Returns how many chunks it dropped.';
