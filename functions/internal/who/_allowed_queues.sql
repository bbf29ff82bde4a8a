create or replace function pgbaton._allowed_queues(action text)
returns integer[]
language plpgsql stable
as $$
declare
    -- To administer a role is not to be it; before PostgreSQL 16 each member may set it.
    v_is_it constant text := case
        when current_setting('server_version_num')::integer < 160000 then 'member' else 'set'
    end;
    v_callers record;
    v_one record;
    v_is_narrowed boolean := false;
    v_may_act boolean := false;
    v_allowed integer[];
begin
    if (action in ('enqueue', 'work', 'monitor', 'operate')) is not true then
        perform pgbaton._check_action(action);
    end if;
    if not pgbaton._has_grants() then
        return null;
    end if;
    -- Whoever logged in, and the role that was set since: each narrows.
    select
        array_agg(r.oid) filter (where not r.rolsuper) as oids,
        bool_or(r.rolsuper and r.rolname = pgbaton._actor()) as may_everything
    into v_callers
    from pg_roles as r
    where r.rolname in (session_user, pgbaton._actor());
    if v_callers.may_everything then
        perform pgbaton._refuse_autovacuum();
        return null;
    end if;

    for v_one in
        with recursive membership as (
            select c.oid as caller, c.oid as role from unnest(v_callers.oids) as c (oid)
            union
            -- Each by its index: joined, all members and all grants would be read.
            select m.caller, a.roleid
            from membership as m
            cross join lateral (select o.roleid from pg_auth_members as o where o.member = m.role offset 0) as a
        )
        select
            count(g.role_name) > 0 as is_narrowed,
            array_agg(g.queue_id) filter (where g.action = _allowed_queues.action) as ids,
            bool_or(
                pg_get_userbyid(m.role) = case _allowed_queues.action
                    when 'enqueue' then 'pgbaton_producer'
                    when 'work' then 'pgbaton_worker'
                    when 'monitor' then 'pgbaton_monitor'
                    else 'pgbaton_operator'
                end
                or m.role = (select n.nspowner from pg_namespace as n where n.nspname = 'pgbaton')
            ) as may_act
        from membership as m
        left join lateral (
            select o.* from pgbaton.queue_grant as o where o.role_name = pg_get_userbyid(m.role) offset 0
        ) as g on true
        where pg_has_role(m.caller, m.role, v_is_it) or pg_has_role(m.caller, m.role, 'usage')
        group by m.caller
    loop
        v_may_act := v_may_act or v_one.may_act;
        if v_one.is_narrowed then
            v_allowed := array(
                select distinct i.id from unnest(v_one.ids) as i (id)
                where not v_is_narrowed or i.id = any (v_allowed)
                order by i.id
            );
            v_is_narrowed := true;
        end if;
    end loop;
    return case when v_is_narrowed then v_allowed when not v_may_act then '{}' end;
end;
$$;
comment on function pgbaton._allowed_queues(text) is
'Ids of the queues on which the caller may do that, sorted; null is all, for a caller whom no grant narrows. Who is
narrowed as the role that logged in and as the one that was set since may do what both may. As long as anybody is
narrowed, who
is not and is no member of the role that it takes either may do it nowhere: they run in somebody''s function, and nobody
can see here whose. Raises 22023, or PB009 in autovacuum.';
