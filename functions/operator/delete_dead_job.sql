create or replace function pgbaton.delete_dead_job(job_id bigint)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_info constant pgbaton.job_info := pgbaton._job_info(job_id, 'operate');
    v_span constant pgbaton.span := pgbaton._take_one(
        v_info.queue, job_id, array['failed']::pgbaton.job_state[], 'delete_dead_job'
    );
begin
    perform pgbaton._finish(array[v_span], 'failed', 'deleted');
    perform pgbaton._audit('delete_dead_job', v_info.queue, job_id, v_span.singleton_key, null);
end;
$$;
comment on function pgbaton.delete_dead_job(bigint) is
'Gives up a dead letter: it goes to history as deleted, and a key that it held goes on.
Raises PB002 (no such job), PB003 (not failed) or 22004.';
