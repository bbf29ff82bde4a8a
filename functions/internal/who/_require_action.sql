create or replace function pgbaton._require_action(queue pgbaton.queue, action text)
returns void
language plpgsql stable
as $$
begin
    if pgbaton._has_grants()
        and not coalesce(queue.id = any (pgbaton._allowed_queues(action)), true)
    then
        raise exception using
            errcode = 'PB009',
            message = format('role %s may not %s on queue "%s"', pgbaton._actor(), action, queue.name),
            hint = format(
                'Somebody who may calls pgbaton.grant_queue(%L, %L, %L).', pgbaton._actor(), queue.name, action
            ) || coalesce((
                select format(' Who is narrowed logged in as %s needs it there, too.', r.rolname)
                from pg_roles as r
                where r.rolname = session_user and r.rolname <> pgbaton._actor() and not r.rolsuper
            ), '');
    end if;
end;
$$;
comment on function pgbaton._require_action(pgbaton.queue, text) is
'Raises PB009 when grants narrow the caller to other queues or actions.';
