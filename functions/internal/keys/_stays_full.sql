create or replace function pgbaton._stays_full(queue_id integer, singleton_key text)
returns boolean
language plpgsql volatile
as $$
begin
    if not pgbaton._is_full(queue_id, singleton_key) then
        return false;
    end if;
    if pgbaton._is_read_committed()
        and pg_try_advisory_xact_lock(pgbaton._lock_class() + 6, pgbaton._stripe(queue_id, singleton_key))
    then
        -- A new statement: who ended a job and left no release row, see _release_places, has committed.
        return pgbaton._is_full(queue_id, singleton_key);
    end if;
    perform pgbaton._release_keys(array[queue_id], array[singleton_key]);
    return true;
end;
$$;
comment on function pgbaton._stays_full(integer, text) is
'_is_full for who leaves a key without a holder because of it. Where a job of the key may be ending just now, it leaves
a release row: the next claim looks again.';
