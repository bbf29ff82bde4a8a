create or replace function pgbaton._lock_queue(queue text)
returns pgbaton.queue
language plpgsql volatile
as $$
declare
    v_queue pgbaton.queue;
begin
    loop
        select q.* into v_queue from pgbaton.queue as q where q.name = _lock_queue.queue for no key update;
        exit when found;
        perform pgbaton._require_queue(queue);  -- raises, unless another one of the name came meanwhile
    end loop;
    return v_queue;
end;
$$;
comment on function pgbaton._lock_queue(text) is
'The queue as it is now, whose settings nobody else changes until the transaction ends. Raises PB001, 22004, or 40001
when it was changed since an older snapshot.';
