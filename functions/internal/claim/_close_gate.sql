create or replace function pgbaton._close_gate(queue text, max_running integer, key_limit integer)
returns pgbaton.queue
language plpgsql volatile
as $$
declare
    v_id constant integer := (pgbaton._begin_change(queue)).id;
begin
    -- Waits for claims that start jobs under limits; those that come meanwhile pass the queue by.
    perform pg_advisory_xact_lock(pgbaton._lock_class() + 5, v_id);
    if (max_running is not null and not exists (
        select from pgbaton.queue_limit as l where l.queue_id = v_id and l.kind = 'running'
    )) or coalesce(key_limit, 1) <> coalesce((
        select l.size from pgbaton.queue_limit as l where l.queue_id = v_id and l.kind = 'key'
    ), 1) then
        -- And for claims that know of none: all that run are counted, and a claim that picks a job from now on notices.
        perform pgbaton._seize_queue(queue);
        perform pgbaton._lock_spans_of(v_id);
    elsif not pgbaton._sees_all() then  -- as _seize_queue looks, before this transaction writes
        raise exception using
            errcode = 'serialization_failure',
            message = format('limits of queue "%s" may have changed since the snapshot of this transaction', queue),
            hint = 'Run the transaction again, with this call first.';
    end if;
    return pgbaton._lock_queue(queue);
end;
$$;
comment on function pgbaton._close_gate(text, integer, integer) is
'The queue, of which no claim is open and none starts jobs until the transaction ends, if it has limits or is to get
these. Raises PB001, PB009, 22004, or 40001 for an older snapshot.';
