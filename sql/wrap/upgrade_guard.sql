do $$
begin
    if pg_catalog.obj_description(pg_catalog.to_regnamespace('pgbaton'), 'pg_namespace')
        operator(pg_catalog.~~) 'pgbaton @old@ build %' is not true
    then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = 'pgbaton @old@ is not what is installed here',
            hint = 'The comment on the schema pgbaton says what is: \dn+ pgbaton. An extension is upgraded by '
                'alter extension pgbaton update.';
    end if;
end;
$$;
