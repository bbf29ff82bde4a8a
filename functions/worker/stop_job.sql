create or replace function pgbaton.stop_job(
    job_id bigint, error_message text default '', lease_token bigint default null
)
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
            array[job_id], array['active', 'cancelling', 'unknown_retry']::pgbaton.job_state[], true, lease_token
        );
    end if;
    if v_spans is null or cardinality(v_spans) = 0 then
        perform pgbaton._refuse(job_id, 'stop_job', true, lease_token);
    end if;
    perform pgbaton._note_message(v_spans, coalesce(error_message, ''), false);
    perform pgbaton._finish(v_spans, 'stopped');
end;
$$;
comment on function pgbaton.stop_job(bigint, text, bigint) is
'Ends a running or recovered job as stopped, with a message that may be empty. lease_token: of the claim;
required in a FIFO queue, where the next job of the key then runs. The last token still counts after the lease has
ended, until somebody else claims the job.
Raises PB002 (no such job), PB003 (not running), PB004 (lease lost) or 22004.';
