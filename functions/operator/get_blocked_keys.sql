create or replace function pgbaton.get_blocked_keys(queue text)
returns setof text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._require_queue(queue);
begin
    perform pgbaton._require_action(v_queue, 'operate');
    return query
    select s.held_key from only pgbaton.span as s
    where s.queue_id = v_queue.id and s.state = 'failed' and not s.ready and s.run_at is null
        and s.held_key is not null
    order by s.held_key;
end;
$$;
comment on function pgbaton.get_blocked_keys(text) is
'Keys of a FIFO queue that are held by a failed job; retry_job, skip_job or delete_job lets them go on. Reads the
failed jobs of the queue. Raises PB001 or 22004.';
