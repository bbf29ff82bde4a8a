create or replace function pgbaton._seize_queue(queue text)
returns pgbaton.queue
language plpgsql volatile
as $$
begin
    perform pgbaton._begin_change(queue);
    perform pg_advisory_xact_lock(pgbaton._lock_class() + 1, hashtext(queue) & 255);
    if not pgbaton._sees_all() then
        raise exception using
            errcode = 'serialization_failure',
            message = format('jobs of queue "%s" may have come since the snapshot of this transaction', queue),
            hint = 'Run the transaction again, with this call first. Under READ COMMITTED it needs no second try.';
    end if;
    return pgbaton._require_queue(queue);
end;
$$;
comment on function pgbaton._seize_queue(text) is
'The queue, without producers until the transaction ends: waits for those that are open. All of its jobs are visible
then. Raises PB001, PB009 (not to operate), 22004, or 40001 for an older snapshot.';
