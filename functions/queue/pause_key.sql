create or replace function pgbaton.pause_key(queue text, singleton_key text)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._require_baton(queue, singleton_key);
begin
    insert into pgbaton.paused_key (queue_id, singleton_key, paused_at)
    values (v_queue.id, singleton_key, pgbaton._now())
    on conflict on constraint paused_key_pkey do nothing;
    if found then
        -- So that a claim under an older snapshot notices: see _enter_queue. Whoever gets the key from now on, or has
        -- it in an open transaction, is set aside by the claim that meets it.
        update pgbaton.queue as q set is_paused = q.is_paused where q.id = v_queue.id;
        perform pgbaton._audit('pause_key', queue, null, singleton_key, null);
    end if;
end;
$$;
comment on function pgbaton.pause_key(text, text) is
'Hands out no further job of the key until resume_key. Jobs that run may finish, and new jobs are still accepted.
Raises PB001, PB003 (the policy of the queue keeps no order), 22004 or 22023.';
