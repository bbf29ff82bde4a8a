create or replace function pgbaton._allowed_queues(action text)
returns integer[]
language plpgsql stable
as $$
declare
    v_actor constant name := pgbaton._actor();
    v_found record;
begin
    perform pgbaton._check_action(action);
    if not exists (select from pgbaton.queue_grant) then
        return null;
    end if;
    if (select r.rolsuper from pg_roles as r where r.rolname = v_actor) then
        perform pgbaton._refuse_autovacuum();
        return null;
    end if;
    with recursive membership as (
        -- Whoever logged in, and the role that was set since: each narrows. Not pg_has_role: a superuser is a member of
        -- everything.
        select r.oid as caller, r.oid as role
        from pg_roles as r
        where r.rolname in (session_user, v_actor) and not r.rolsuper
        union
        select m.caller, g.roleid
        from membership as m
        cross join lateral (
            -- To administer a role is not to be it. Before PostgreSQL 16 members had no options.
            select a.roleid, to_jsonb(a) as options from pg_auth_members as a where a.member = m.role offset 0
        ) as g
        where coalesce((g.options ->> 'inherit_option')::boolean, true)
            or coalesce((g.options ->> 'set_option')::boolean, true)
    ), member as (
        select m.caller, r.oid, r.rolname from membership as m inner join pg_roles as r on r.oid = m.role
    ), narrowed as (
        select m.caller, array_agg(g.queue_id) filter (where g.action = _allowed_queues.action) as ids
        from member as m
        inner join pgbaton.queue_grant as g on g.role_name = m.rolname
        group by m.caller
    )
    select
        exists (select from narrowed) as is_narrowed,
        array(
            select i.id from narrowed as n cross join lateral (select distinct unnest(n.ids)) as i (id)
            group by i.id
            having count(*) = (select count(*) from narrowed)
            order by i.id
        ) as ids,
        exists (
            select from member as m
            where m.rolname = case action
                when 'enqueue' then 'pgbaton_producer'
                when 'work' then 'pgbaton_worker'
                when 'monitor' then 'pgbaton_monitor'
                else 'pgbaton_operator'
            end
            or m.oid = (select n.nspowner from pg_namespace as n where n.nspname = 'pgbaton')
        ) as may_act
    into v_found;
    return case
        when v_found.is_narrowed then v_found.ids
        when not v_found.may_act then '{}'
    end;
end;
$$;
comment on function pgbaton._allowed_queues(text) is
'Ids of the queues on which the caller may do that, sorted; null is all, for a caller whom no grant narrows. Who is
narrowed as the role that logged in and as the one that was set since may do what both may. As long as anybody is narrowed, who
is not and is no member of the role that it takes either may do it nowhere: they run in somebody''s function, and nobody
can see here whose. Raises 22023, or PB009 in autovacuum.';
