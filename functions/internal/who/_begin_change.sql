create or replace function pgbaton._begin_change(queue text)
returns pgbaton.queue
language plpgsql volatile
as $$
declare
    v_queue pgbaton.queue := pgbaton._require_queue(queue);
begin
    -- Before it waits: who may not do it holds up nobody.
    perform pgbaton._require_action(v_queue, 'operate');
    perform pg_advisory_xact_lock(pgbaton._lock_class() + 7, hashtext(queue));
    v_queue := pgbaton._require_queue(queue);  -- it may be another one of the name now
    perform pgbaton._require_action(v_queue, 'operate');
    return v_queue;
end;
$$;
comment on function pgbaton._begin_change(text) is
'The queue, for a call that drops it or changes its policy, its limits or other settings: waits until no other one does
so, and keeps others waiting until the transaction ends. Raises PB001, PB009 (not to operate) or 22004.';
