create or replace function pgbaton.fail_job(
    job_id bigint,
    error_message text,
    lease_token bigint default null,
    retryable boolean default true,
    retry_in interval default null,
    error_stack text default null
)
returns pgbaton.job_state
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
    perform pgbaton._check_duration('retry_in', retry_in);
    if job_id is not null then
        v_spans := pgbaton._carve(
            array[job_id], array['active', 'unknown_retry']::pgbaton.job_state[], true, lease_token
        );
    end if;
    if cardinality(v_spans) > 0 then
        perform pgbaton._fail(
            v_spans, array[job_id], array[error_message], coalesce(retryable, true), retry_in, array[error_stack]
        );
    else
        perform pgbaton._refuse(job_id, 'fail_job', true, lease_token);
    end if;
    return pgbaton._state_of(job_id);
end;
$$;
comment on function pgbaton.fail_job(bigint, text, bigint, boolean, interval, text) is
'Ends an attempt with a message and returns the new state: retry, or failed when no attempt is left or retryable is
false. A message of more than 1,048,576 characters is cut, and says so.
retry_in: the wait before the next attempt, instead of that of the job or the queue. error_stack: where it failed, kept
for job_attempts, up to 65,536 characters. lease_token: of the claim; required in a FIFO queue. The last token still
counts after the lease has ended, until somebody else claims the job.
Raises PB002 (no such job), PB003 (not running), PB004 (lease lost), 22004 or 22023.';
