create or replace function pgbaton._require_queue(queue text)
returns pgbaton.queue
language plpgsql stable
as $$
declare
    v_queue pgbaton.queue;
begin
    select * into v_queue from pgbaton.queue as q where q.name = _require_queue.queue;
    if found then
        return v_queue;
    end if;
    if queue is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'queue is null',
            hint = 'Name a queue; pgbaton.list_queues() shows them.';
    end if;
    raise exception using
        errcode = 'PB001',
        message = format('queue "%s" does not exist', queue),
        hint = 'Create it with pgbaton.create_queue() or create_fifo_queue(); list_queues() shows those there are.';
end;
$$;
comment on function pgbaton._require_queue(text) is
'The queue of that name. Raises PB001 if there is none, 22004 for null.';
