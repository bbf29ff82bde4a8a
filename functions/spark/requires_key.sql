create or replace function pgbaton.requires_key(queue text)
returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._require_queue(queue);
begin
    perform pgbaton._require_action(v_queue, 'enqueue');
    return v_queue.policy = 'fifo';
end;
$$;
comment on function pgbaton.requires_key(text) is
'Whether every job of the queue needs a singleton_key, so that a producer of many can find out beforehand.
Raises PB001 (unknown queue), PB009 (the caller may not enqueue into it) or 22004.';
