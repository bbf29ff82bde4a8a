create or replace function pgbaton.resume_key(queue text, singleton_key text)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._require_baton(queue, singleton_key);
    v_lane_id integer;
begin
    delete from pgbaton.paused_key as k
    where k.queue_id = v_queue.id and k.singleton_key = resume_key.singleton_key;
    if found then
        update only pgbaton.span as s
        set ready = true, position = nextval('pgbaton.position_seq')
        where s.lo = (pgbaton._holder(v_queue.id, resume_key.singleton_key)).lo
            and s.held_key = resume_key.singleton_key
            and s.state in ('pending', 'retry', 'unknown_retry') and coalesce(s.run_at <= pgbaton._now(), true)
        returning s.lane_id into v_lane_id;
        if found then
            perform pgbaton._wake(array[v_lane_id]);
        else
            -- Who gets the key before this is committed may be set aside by a claim: see _set_paused_aside. Whichever
            -- commits last, the next claim looks.
            perform pgbaton._release_keys(array[v_queue.id], array[singleton_key]);
        end if;
        perform pgbaton._audit('resume_key', queue, null, singleton_key, null);
    end if;
end;
$$;
comment on function pgbaton.resume_key(text, text) is
'Hands out jobs of a key again after pause_key. Raises PB001, PB003 (the policy of the queue keeps no order), 22004 or
22023.';
