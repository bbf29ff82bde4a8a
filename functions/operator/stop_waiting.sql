create or replace function pgbaton.stop_waiting(queue text, job_id bigint, reason text default null)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_span constant pgbaton.span := pgbaton._take_one(
        queue, job_id, array['pending', 'waiting']::pgbaton.job_state[], 'stop_waiting'
    );
    v_wait pgbaton.job_wait;
begin
    select w.* into v_wait from pgbaton.job_wait as w where w.child_id = stop_waiting.job_id limit 1;
    if not found then
        raise exception using
            errcode = 'PB003',
            message = format('job %s waits for no other job', job_id),
            hint = format('pgbaton.why_not_running(%s) says what it is doing.', job_id);
    end if;
    delete from pgbaton.job_wait as w where w.child_id = stop_waiting.job_id;
    perform pgbaton._reschedule(array[v_span], greatest(v_wait.run_at, pgbaton._now()));
    perform pgbaton._audit('stop_waiting', queue, job_id, v_span.singleton_key, reason);
end;
$$;
comment on function pgbaton.stop_waiting(text, bigint, text) is
'Lets a job run that waits for others, as if all of them had completed; the audit keeps the reason. It is for a job
whose parent was cancelled or deleted and will not come back. The line of its key and its run_at still count.
Raises PB001, PB002 (no such job in the queue), PB003 (it waits for none, or a worker has it or it ended), PB009 or
22004.';
