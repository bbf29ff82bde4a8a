create or replace function pgbaton._require_other_grants(queue pgbaton.queue)
returns void
language plpgsql volatile
as $$
declare
    v_role name;
begin
    if not pgbaton._has_grants() then
        return;
    end if;
    -- Nobody drops another queue, grants or revokes meanwhile; calls that only look do not wait.
    lock table pgbaton.queue_grant in share row exclusive mode;
    select g.role_name into v_role
    from pgbaton.queue_grant as g
    where exists (select from pg_roles as r where r.rolname = g.role_name and not r.rolsuper)
    group by g.role_name
    having every(g.queue_id = queue.id)
    order by g.role_name
    limit 1;
    if found then
        raise exception using
            errcode = 'PB009',
            message = format('role %s is narrowed to queue "%s" alone', v_role, queue.name),
            hint = 'Without a grant it could do everything: grant it another queue, or revoke_queue() this one first.';
    end if;
end;
$$;
comment on function pgbaton._require_other_grants(pgbaton.queue) is
'Raises PB009 if some role has grants on this queue only: with the queue they would go, and nothing narrowed it.';
