create or replace function pgbaton.revoke_queue(role name, queue text, action text)
returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue pgbaton.queue;
begin
    perform pgbaton._touch_queues();
    v_queue := pgbaton._require_queue(queue);
    perform pgbaton._require_all_queues('operate');
    perform pgbaton._check_action(action);
    delete from pgbaton.queue_grant as g
    where g.queue_id = v_queue.id and g.role_name = role and g.action = revoke_queue.action;
    if found then
        perform pgbaton._wake_queues(null);  -- who may hear of what has changed
        perform pgbaton._audit('revoke_queue', queue, null, null, format('%s from %s', action, role));
        return true;
    end if;
    return false;
end;
$$;
comment on function pgbaton.revoke_queue(name, text, text) is
'Takes a grant back and says whether there was one. A role that loses its last grant is no longer narrowed: revoke its
membership in the roles of pgbaton as well. Raises PB001, PB009 (the caller is narrowed itself), 22004 or 22023.';
