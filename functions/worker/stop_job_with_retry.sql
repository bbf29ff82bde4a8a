create or replace function pgbaton.stop_job_with_retry(
    job_id bigint, error_message text, lease_token bigint default null
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
    perform pgbaton._check_messages(array[error_message]);
    if job_id is not null then
        v_spans := pgbaton._carve(array[job_id], array['cancelling']::pgbaton.job_state[], true, lease_token);
    end if;
    if v_spans is null or cardinality(v_spans) = 0 then
        perform pgbaton._refuse(job_id, 'stop_job_with_retry', true, lease_token);
    end if;
    perform pgbaton._note_message(v_spans, error_message, true);
    perform pgbaton._finish(v_spans, 'stopped');
end;
$$;
comment on function pgbaton.stop_job_with_retry(bigint, text, bigint) is
'Ends a job that failed while it was being cancelled: as stopped, with its message, and with one retry more counted.
lease_token: of the claim; required in a FIFO queue.
Raises PB002 (no such job), PB003 (not being cancelled), PB004 (lease lost), 22004 or 22023.';
