create or replace function pgbaton.reschedule_job(queue text, job_id bigint, run_at timestamptz default null)
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_at constant timestamptz := greatest(pgbaton._check_run_at(run_at, null), pgbaton._now());
    v_span pgbaton.span;
    v_is_held boolean := false;  -- until jobs have ended for which it waits
begin
    v_span := pgbaton._take_one(
        queue, job_id, array['pending', 'waiting', 'retry', 'unknown_retry']::pgbaton.job_state[], 'reschedule_job'
    );
    if v_span.run_at = 'infinity' then
        update pgbaton.job_wait as w set run_at = v_at where w.child_id = reschedule_job.job_id;
        v_is_held := found;
    end if;
    perform pgbaton._reschedule(array[v_span], case when v_is_held then 'infinity' else v_at end);
    perform pgbaton._audit('reschedule_job', queue, job_id, v_span.singleton_key, 'to ' || v_at);
    return case when v_span.state = 'waiting' or v_is_held then 'in_line' else 'ok' end;
end;
$$;
comment on function pgbaton.reschedule_job(text, bigint, timestamptz) is
'Moves a job that nobody has claimed, or that waits for its time or for a retry, to another time: it runs from run_at
on (null, or a time that has passed: at once). Its attempts stay as they are.

Returns ok, or in_line when other jobs of its key stand before it, or when jobs for which it waits have not ended: it
runs after them, and not before run_at, for the order within a key never changes. A job that holds a FIFO key keeps it,
so its key waits with it. Among jobs with the same priority, type and tags, a job that becomes due stands behind those
that were claimable before.
Raises PB001, PB002 (no such job in the queue), PB003 (a worker has it, or it failed or ended: see retry_job), PB009,
22004 or 22023 (no instant of the years 1 to 9999).';
