create or replace function pgbaton.delete_job(queue text, job_id bigint)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_span constant pgbaton.span := pgbaton._take_one(
        queue, job_id,
        array['failed', 'waiting', 'pending', 'retry', 'unknown_retry']::pgbaton.job_state[], 'delete_job'
    );
begin
    perform pgbaton._finish(
        array[v_span],
        case
            when v_span.state = 'failed' then 'failed'::pgbaton.job_state
            when v_span.state in ('waiting', 'pending') and v_span.claimed_at is null then 'unscheduled'
            else 'stopped'
        end,
        'deleted'
    );
    perform pgbaton._audit('delete_job', queue, job_id, v_span.singleton_key, null);
end;
$$;
comment on function pgbaton.delete_job(text, bigint) is
'Takes a job that is not running out of the queue. It goes to history as deleted: a failed job stays failed, one that
never ran is unscheduled, one between attempts is stopped. If it held its key, the next job runs.
Raises PB001, PB002 (no such job in the queue), PB003 (running or ended) or 22004.';
