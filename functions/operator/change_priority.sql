create or replace function pgbaton.change_priority(queue text, job_id bigint, priority integer)
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._enter_queue(queue, 'operate');
    v_span pgbaton.span;
begin
    v_span := pgbaton._take_one(
        queue, job_id, array['pending', 'waiting', 'retry', 'unknown_retry']::pgbaton.job_state[], 'change_priority'
    );
    perform pgbaton._give_priority(v_queue, array[v_span], priority);
    perform pgbaton._audit('change_priority', queue, job_id, v_span.singleton_key, 'to ' || priority);
    return case when v_span.state = 'waiting' then 'in_line' else 'ok' end;
end;
$$;
comment on function pgbaton.change_priority(text, bigint, integer) is
'Gives a job that nobody has claimed, or that waits for its time or for a retry, another priority. Larger is claimed
first, and among jobs of one priority it stands where its enqueue put it. Returns ok, or in_line when other jobs of its
key stand before it: the order within a key never changes, and the priority counts when its turn has come.
Raises PB001, PB002 (no such job in the queue), PB003 (a worker has it, or it failed or ended), PB009, PB010 (the queue
may have no more combinations of priority, job_type and tags), 22004 or 22023.';
