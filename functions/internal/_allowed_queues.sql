create or replace function pgbaton._allowed_queues(action text)
returns integer[]
language plpgsql stable
as $$
declare
    v_narrowed boolean;
    v_allowed integer[];
begin
    perform pgbaton._check_action(action);
    if not exists (select from pgbaton.queue_grant) then
        return null;
    end if;
    with recursive roles as (
        -- Not pg_has_role: a superuser is a member of everything.
        select r.oid, r.rolname from pg_roles as r where r.rolname = pgbaton._actor() and not r.rolsuper
        union
        select r.oid, r.rolname
        from roles as m
        inner join pg_auth_members as a on a.member = m.oid
        inner join pg_roles as r on r.oid = a.roleid
    )
    select count(*) > 0, array_agg(g.queue_id) filter (where g.action = _allowed_queues.action)
    into v_narrowed, v_allowed
    from pgbaton.queue_grant as g
    inner join roles as r on r.rolname = g.role_name;
    return case when v_narrowed then coalesce(v_allowed, '{}') end;
end;
$$;
comment on function pgbaton._allowed_queues(text) is
'Ids of the queues on which the caller may do that; null is all, for a caller that no grant narrows.';
