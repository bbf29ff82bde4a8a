create or replace function pgbaton._queue_filter(queue text, action text)
returns integer[]
language plpgsql stable
as $$
declare
    v_queue pgbaton.queue;
begin
    if queue is null then
        return pgbaton._allowed_queues(action);
    end if;
    v_queue := pgbaton._require_queue(queue);
    perform pgbaton._require_action(v_queue, action);
    return array[v_queue.id];
end;
$$;
comment on function pgbaton._queue_filter(text, text) is
'Ids of the queues that a call is about: the named one, else all on which the caller may do that; null is all.
Raises PB001 or PB009.';
