create or replace function pgbaton.fail_jobs(
    job_ids bigint[], error_messages text[], lease_token bigint default null, retryable boolean default true,
    error_stacks text[] default null
)
returns setof pgbaton.verdict
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
    perform pgbaton._check_ids(job_ids);
    perform pgbaton._check_messages(error_messages);
    perform pgbaton._check_same_length(
        'job_ids', cardinality(job_ids), 'error_messages', cardinality(error_messages)
    );
    if error_stacks is not null then
        perform pgbaton._check_flat('error_stacks', array_ndims(error_stacks));
        perform pgbaton._check_same_length(
            'job_ids', cardinality(job_ids), 'error_stacks', cardinality(error_stacks)
        );
    end if;
    v_spans := pgbaton._carve(
        job_ids, array['active', 'unknown_retry']::pgbaton.job_state[], true, lease_token
    );
    perform pgbaton._fail(v_spans, job_ids, error_messages, coalesce(retryable, true), null, error_stacks);
    return query select * from pgbaton._verdicts(job_ids, v_spans, lease_token);
end;
$$;
comment on function pgbaton.fail_jobs(bigint[], text[], bigint, boolean, text[]) is
'Ends an attempt of each job with its message: the job runs again after its retry delay, or is failed when no attempt
is left or retryable is false. One verdict for each id in input order: ok, lease_lost, invalid_state or not_found.
lease_token: of the claim; jobs of a FIFO queue are refused without it. The last token still counts after the lease has
ended, until somebody else claims the job. error_stacks: where each failed, null for none, kept for job_attempts, up to
65,536 characters each.
Raises 22004 or 22023 for a null or empty message, 2202E for arrays of different lengths.';
