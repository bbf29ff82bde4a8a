create or replace function pgbaton.pause_queue(queue text)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._lock_queue(queue);
begin
    perform pgbaton._require_action(v_queue, 'operate');
    update pgbaton.queue as q set is_paused = true where q.id = v_queue.id and q.is_paused <> true;
    if found then
        perform pgbaton._audit('pause_queue', queue, null, null, null);
    end if;
end;
$$;
comment on function pgbaton.pause_queue(text) is
'Hands out no jobs of the queue until resume_queue. New jobs are still accepted, and claimed jobs may be finished.
Raises PB001 or 22004.';
