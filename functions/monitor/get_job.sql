create or replace function pgbaton.get_job(job_id bigint)
returns pgbaton.job_info
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    return pgbaton._job_info(job_id, 'monitor');
end;
$$;
comment on function pgbaton.get_job(bigint) is
'All that is known of a job, live or ended: what was enqueued, its state, its last claim, result, last error and
progress (100 once it has completed).
Raises PB002 (no such job) or 22004.';
