create or replace function pgbaton.get_dead_job(job_id bigint)
returns pgbaton.dead_job
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_info constant pgbaton.job_info := pgbaton._job_info(job_id, 'operate');
    v_job pgbaton.dead_job;
begin
    if (pgbaton._live_span(job_id)).state is distinct from 'failed' then
        perform pgbaton._refuse(job_id, 'get_dead_job', action => 'operate');
    end if;
    select d.* into v_job
    from pgbaton._dead_jobs(pgbaton._queue_filter(v_info.queue, 'operate'), '{}') as d
    where d.id = get_dead_job.job_id;
    return v_job;
end;
$$;
comment on function pgbaton.get_dead_job(bigint) is
'A dead letter. Raises PB002 (no such job), PB003 (not failed) or 22004.';
