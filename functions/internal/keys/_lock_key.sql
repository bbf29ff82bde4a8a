create or replace function pgbaton._lock_key(queue_id integer, singleton_key text)
returns boolean
language plpgsql volatile
as $$
begin
    perform pg_advisory_xact_lock(pgbaton._lock_class(), pgbaton._stripe(queue_id, singleton_key));
    if pgbaton._is_read_committed()
        and pg_try_advisory_xact_lock(pgbaton._lock_class() + 2, pgbaton._stripe(queue_id, singleton_key))
    then
        -- A new statement: it sees what was committed while we waited for the lock.
        return cardinality(pgbaton._busy_keys(queue_id, array[singleton_key])) = 0;
    end if;
    -- Somebody who finds a key of the stripe idle has not committed, or our snapshot is older: whether the key is busy
    -- cannot be told. The job waits, and the next claim passes the baton.
    perform pgbaton._release_keys(array[queue_id], array[singleton_key]);
    return false;
end;
$$;
comment on function pgbaton._lock_key(integer, text) is
'Takes the producers'' lock of a key until the transaction ends and says whether the next job of the key gets
the baton.';
