create or replace function pgbaton.resume_queue(queue text)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._lock_queue(queue);
begin
    perform pgbaton._require_action(v_queue, 'operate');
    update pgbaton.queue as q set is_paused = false where q.id = v_queue.id and q.is_paused <> false;
    if found then
        perform pgbaton._audit('resume_queue', queue, null, null, null);
        perform pgbaton._wake_lanes_of(v_queue.id);
    end if;
end;
$$;
comment on function pgbaton.resume_queue(text) is
'Hands out jobs of a queue again after pause_queue. Raises PB001 or 22004.';
