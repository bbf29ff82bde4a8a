create or replace function pgbaton.mark_job_unknown_stopped(job_id bigint, error_message text default '')
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_spans pgbaton.span[];
begin
    if job_id is not null then
        v_spans := pgbaton._carve(
            pgbaton._granted_ids(array[job_id], 'work'),
            array['active', 'cancelling', 'unknown_retry']::pgbaton.job_state[]
        );
    end if;
    if v_spans is null or cardinality(v_spans) = 0 then
        perform pgbaton._refuse(job_id, 'mark_job_unknown_stopped');
    end if;
    perform pgbaton._note_message(v_spans, coalesce(error_message, ''), false);
    perform pgbaton._finish(v_spans, 'unknown_stopped');
end;
$$;
comment on function pgbaton.mark_job_unknown_stopped(bigint, text) is
'Ends a job as unknown_stopped, when nobody knows whether it still runs. If it held its key, the next job runs. A late
completion by its worker is still accepted. Raises PB002 (no such job), PB003 (not running or recovered) or 22004.';
