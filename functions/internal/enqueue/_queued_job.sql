create or replace function pgbaton._queued_job(queue pgbaton.queue, singleton_key text)
returns bigint
language plpgsql volatile
as $$
declare
    v_key constant text := coalesce(singleton_key, '');
begin
    if queue.policy not in ('short', 'stately', 'exclusive') then
        return null;
    end if;
    -- Producers of one key one after the other; a new statement sees what the last one committed.
    perform pg_advisory_xact_lock(pgbaton._lock_class(), pgbaton._stripe(queue.id, v_key));
    return (
        select s.lo from only pgbaton.span as s
        where s.queue_id = queue.id and s.singleton_key = v_key
            and s.slot = case when queue.policy = 'exclusive' then 0 else -1 end
    );
end;
$$;
comment on function pgbaton._queued_job(pgbaton.queue, text) is
'The job that keeps another one of its key from being queued (policies short, stately, exclusive), null if
there is none. Takes the producers'' lock of the key until the transaction ends.';
