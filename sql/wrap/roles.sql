-- Roles belong to the whole server, so they outlive a database and may be there already.
do $$
declare
    v_roles constant text[] := array[
        'pgbaton_producer', 'pgbaton_worker', 'pgbaton_monitor', 'pgbaton_operator'
    ];
    v_role text;
begin
    foreach v_role in array v_roles loop
        continue when exists (select from pg_roles where rolname = v_role);
        if not (select rolcreaterole or rolsuper from pg_roles where rolname = current_user) then
            raise exception using
                errcode = 'insufficient_privilege',
                message = format('role "%s" is missing and "%s" may not create it', v_role, current_user),
                hint = 'An administrator can run: create role pgbaton_producer nologin; '
                    'create role pgbaton_worker nologin; create role pgbaton_monitor nologin; '
                    'create role pgbaton_operator nologin; '
                    'grant pgbaton_producer, pgbaton_worker, pgbaton_monitor to pgbaton_operator;';
        end if;
        begin
            execute format('create role %I nologin', v_role);
        exception
            -- another database of this server is installing at the same moment
            when duplicate_object or unique_violation then null;
        end;
    end loop;

    foreach v_role in array v_roles[1:3] loop
        continue when pg_has_role('pgbaton_operator', v_role, 'member');
        begin
            execute format('grant %I to pgbaton_operator', v_role);
        exception
            when unique_violation then null;
        end;
    end loop;
end;
$$;
