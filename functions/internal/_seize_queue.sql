create or replace function pgbaton._seize_queue(queue text)
returns pgbaton.queue
language plpgsql volatile
as $$
begin
    perform pg_advisory_xact_lock(pgbaton._lock_class() + 1, hashtext(queue) & 255);
    return pgbaton._require_queue(queue);
end;
$$;
comment on function pgbaton._seize_queue(text) is
'The queue, without producers until the transaction ends: waits for those that are open. Raises PB001 or 22004.';
