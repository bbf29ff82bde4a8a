create or replace function pgbaton.pause_key(queue text, singleton_key text)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._require_baton(queue, singleton_key);
begin
    perform pg_advisory_xact_lock(pgbaton._lock_class(), pgbaton._stripe(v_queue.id, singleton_key));
    insert into pgbaton.paused_key (queue_id, singleton_key, paused_at)
    values (v_queue.id, singleton_key, pgbaton._now())
    on conflict on constraint paused_key_pkey do nothing;
    if found then
        update pgbaton.span as s set ready = false
        where s.lo = (pgbaton._holder(v_queue.id, pause_key.singleton_key)).lo
            and s.held_key = pause_key.singleton_key
            and s.ready;
        perform pgbaton._audit('pause_key', queue, null, singleton_key, null);
    end if;
end;
$$;
comment on function pgbaton.pause_key(text, text) is
'No further job of the key is handed out until resume_key; what is running may finish, and jobs are still
taken.
Raises PB001, PB003 (the queue''s policy knows no order), 22004 or 22023.';
