create or replace function pgbaton.get_dead_job(job_id bigint)
returns pgbaton.dead_job
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_info constant pgbaton.job_info := pgbaton._job_info(job_id, 'operate');
    v_span constant pgbaton.span := pgbaton._live_span(v_info.id);
    v_job pgbaton.dead_job;
begin
    if v_span.state is distinct from 'failed' then
        perform pgbaton._refuse(job_id, 'get_dead_job', action => 'operate');
    end if;
    select d.* into v_job from pgbaton._dead_letters(array[v_span]) as d;
    return v_job;
end;
$$;
comment on function pgbaton.get_dead_job(bigint) is
'A dead letter. Raises PB002 (no such job), PB003 (not failed) or 22004.';
