-- What ALTER DEFAULT PRIVILEGES of the owner gave away as each object was made. The functions are the only door, and
-- what is granted is granted after this.
do $$
declare
    v_given record;
begin
    for v_given in
        select distinct
            o.kind, o.name,
            case when g.grantee = 0 then 'public' else g.grantee::regrole::text end as grantee
        from (
            select 'table' as kind, c.oid::regclass::text as name, c.relacl as acl, c.relowner as owner
            from pg_class as c
            where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'p', 'S', 'v')
            union all
            select 'routine', p.oid::regprocedure::text, p.proacl, p.proowner
            from pg_proc as p
            where p.pronamespace = 'pgbaton'::regnamespace
            union all
            select 'schema', n.oid::regnamespace::text, n.nspacl, n.nspowner
            from pg_namespace as n
            where n.nspname = 'pgbaton'
        ) as o
        cross join lateral aclexplode(o.acl) as g
        where g.grantee <> o.owner
    loop
        execute format('revoke all on %s %s from %s', v_given.kind, v_given.name, v_given.grantee);
    end loop;
end;
$$;
