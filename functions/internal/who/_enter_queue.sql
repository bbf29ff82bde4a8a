create or replace function pgbaton._enter_queue(queue text, action text default 'enqueue')
returns pgbaton.queue
language plpgsql volatile
as $$
declare
    v_queue pgbaton.queue;
begin
    -- Shared by producers, exclusive for drop_queue and set_fifo_mode. 256 of them, so that publishing to
    -- thousands of queues fits in the lock table.
    perform pg_advisory_xact_lock_shared(pgbaton._lock_class() + 1, hashtext(queue) & 255);
    if pgbaton._is_read_committed() then
        v_queue := pgbaton._require_queue(queue);
    else
        -- By its row, which raises when it was changed since the snapshot.
        select q.* into v_queue from pgbaton.queue as q where q.name = _enter_queue.queue for share;
        if not found then
            perform pgbaton._require_queue(queue);
        end if;
    end if;
    if pgbaton._has_grants() then
        perform pgbaton._require_action(v_queue, action);
    end if;
    return v_queue;
end;
$$;
comment on function pgbaton._enter_queue(text, text) is
'The queue, which keeps its policy until the transaction ends. Raises PB001, PB009, 22004, or 40001 when the queue was
changed since an older snapshot.';
