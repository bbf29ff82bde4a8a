-- Jobs are user data: without this pg_dump would leave them, and the counters of their ids, behind.
-- Not the unlogged inbox: its rows are jobs already, and a restore would enqueue them again.
do $$
declare
    v_relation regclass;
begin
    for v_relation in
        select c.oid
        from pg_class as c
        where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'p', 'S')
            and c.relpersistence <> 'u'
        order by c.oid
    loop
        perform pg_extension_config_dump(v_relation, '');
    end loop;
end;
$$;
