create or replace function pgbaton.skip_job(queue text, job_id bigint, reason text default null)
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
        queue, job_id, array['failed']::pgbaton.job_state[], 'skip_job'
    );
begin
    perform pgbaton._finish(array[v_span], 'failed', 'skipped');
    perform pgbaton._audit('skip_job', queue, job_id, v_span.singleton_key, reason);
end;
$$;
comment on function pgbaton.skip_job(text, bigint, text) is
'Gives up a failed job: it goes to history as failed and skipped, the next job of its key runs, and the audit keeps the
reason.
Raises PB001, PB002 (no such job in the queue), PB003 (not failed) or 22004.';
