create or replace function pgbaton.complete_job(
    job_id bigint, result jsonb default null, lease_token bigint default null
)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
    if result is null and lease_token is not null and pgbaton._complete_first(job_id, lease_token) then
        return;
    end if;
    if job_id is null or cardinality(pgbaton._complete(
        array[job_id], lease_token, case when result is not null then array[result] end
    )) = 0 then
        perform pgbaton._refuse(job_id, 'complete_job', true, lease_token);
    end if;
end;
$$;
comment on function pgbaton.complete_job(bigint, jsonb, bigint) is
'Ends a job as completed and keeps its result. lease_token: of the claim; required in a FIFO queue. When the lease has
ended and the job was taken back, the last token still counts until somebody else claims the job.
Raises PB002 (no such job), PB003 (not running, for example completed before), PB004 (lease lost), PB011 (result above
16 MB, nested deeper than 500 levels or with a number of more than 4,000 digits before the point) or 22004.';
