create or replace function pgbaton.grant_queue(role name, queue text, action text)
returns void
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
    if not exists (select from pg_roles as r where r.rolname = role) then
        raise exception using
            errcode = 'undefined_object',
            message = format('role %s does not exist', coalesce(quote_literal(role), 'null')),
            hint = 'Create it and grant it pgbaton_producer, pgbaton_worker, pgbaton_operator or pgbaton_monitor.';
    end if;
    insert into pgbaton.queue_grant (queue_id, role_name, action, granted_at)
    values (v_queue.id, role, action, pgbaton._now())
    on conflict on constraint queue_grant_pkey do nothing;
    perform pgbaton._wake_queues(null);  -- who may hear of what has changed
    perform pgbaton._audit('grant_queue', queue, null, null, format('%s to %s', action, role));
end;
$$;
comment on function pgbaton.grant_queue(name, text, text) is
'Narrows a role, and every member of it, to the queues and actions (enqueue, work, operate, monitor) that are granted
to it. Both the role that logged in and the role that was set since count: a session that is narrowed by both may do
only what both may, so set role widens nothing. A role that may not make a call on the queue of a job is told that
there is no such job.

A role without any grant may do on every queue what its membership in the roles of pgbaton allows. As long as any role
is narrowed, a role without a grant must itself be a member of the role that a call needs; it is not enough to run in a
function of a member. Superusers are not narrowed. Roles are known by name: a renamed role has no grants.
Raises PB001, PB009 (the caller is narrowed itself), 42704 (no such role), 22004 or 22023.';
