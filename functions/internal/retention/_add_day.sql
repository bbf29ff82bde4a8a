create or replace function pgbaton._add_day(parent text, day date)
returns void
language plpgsql volatile
as $$
declare
    -- The caller's DateStyle may print a date that it does not read back.
    v_iso constant text := 'YYYY-MM-DD';
    v_name constant text := parent || to_char(day, '_YYYYMMDD');
    v_grantee text;
begin
    execute format(
        'create table pgbaton.%I partition of pgbaton.%I for values from (%L) to (%L)',
        v_name, parent, to_char(day, v_iso), to_char(day + 1, v_iso)
    );
    execute format('comment on table pgbaton.%I is %L', v_name, format('Day %s of %s.', to_char(day, v_iso), parent));
    -- What default privileges of the owner give away: the functions are the only door.
    for v_grantee in
        select distinct case when g.grantee = 0 then 'public' else pg_get_userbyid(g.grantee) end
        from pg_class as c
        cross join lateral aclexplode(c.relacl) as g
        where c.oid = to_regclass(format('pgbaton.%I', v_name)) and g.grantee <> c.relowner
    loop
        execute format('revoke all on table pgbaton.%I from %I', v_name, v_grantee);
    end loop;
    -- A partition does not inherit it.
    if (select c.relreplident from pg_class as c where c.oid = to_regclass(format('pgbaton.%I', parent))) = 'f' then
        execute format('alter table pgbaton.%I replica identity full', v_name);
    end if;
end;
$$;
comment on function pgbaton._add_day(text, date) is
'Makes the partition of a day, of the table named parent.';
