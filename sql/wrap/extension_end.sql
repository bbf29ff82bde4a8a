-- Jobs are user data: without this pg_dump would leave them, and the counters of their ids, behind.
do $$
declare
    v_relation regclass;
begin
    for v_relation in
        select c.oid
        from pg_class as c
        where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'p', 'S')
        order by c.oid
    loop
        perform pg_extension_config_dump(v_relation, '');
    end loop;
end;
$$;
