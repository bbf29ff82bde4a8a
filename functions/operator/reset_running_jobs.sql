create or replace function pgbaton.reset_running_jobs(queue text default null)
returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'operate');
    v_count bigint;
begin
    v_count := pgbaton._recover(pgbaton._leased_spans(null, v_queue_ids, null), 'running jobs were reset');
    if v_count > 0 then
        perform pgbaton._audit('reset_running_jobs', queue, null, null, format('%s jobs', v_count));
    end if;
    return v_count;
end;
$$;
comment on function pgbaton.reset_running_jobs(text) is
'Takes all running jobs of a queue (null: of all) from their workers and returns how many. They run again, or are
failed when no attempt is left; jobs that are being cancelled end as unknown_stopped. It is for a restart of all
workers. Raises PB001.';
