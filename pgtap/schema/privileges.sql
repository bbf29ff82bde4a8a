-- What a role may and may not do. Wants the variables role and folders (those whose functions it may call, 'a,b'), and
-- audiences of run.py. Gives 8 assertions. \ir this after "begin" and the plan.
create temporary table audience as
select split_part(entry, '/', 1) as folder, split_part(entry, '/', 2) as name
from unnest(string_to_array(:'audiences', ',')) as entry;
create temporary table wanted as
select p.oid, p.oid::regprocedure::text as call, a.folder,
    p.prorettype <> 'trigger'::regtype
    and (a.folder = any (string_to_array(:'folders', ',')) or a.name = 'version' or a.name = any (string_to_array(:'besides', ','))) as may
from audience as a inner join pg_proc as p on p.proname = a.name and p.pronamespace = 'pgbaton'::regnamespace;
create function pg_temp.sqlstate_as(role name, statement text) returns text
language plpgsql as $$
declare
    v_state text := '00000';
begin
    begin
        execute format('set local role %I', role);
        execute statement;
    exception
        when others then v_state := sqlstate;
    end;
    reset role;
    return v_state;
end;
$$;

select cmp_ok((select count(*)::integer from wanted), '>', 90, 'the functions are known');
select is_empty(
    format('select folder, call, may from wanted where has_function_privilege(%L, oid, ''execute'') <> may', :'role'),
    format('%s executes the functions of %s, and no others', :'role', :'folders')
);
select is_empty(
    format('select call from wanted where folder = ''internal'' and has_function_privilege(%L, oid, ''execute'')', :'role'),
    'no internal one'
);
-- Not only on paper: without arguments it does not come to a call, so those without parameters stand for all.
select is_empty(
    format(
        $$select w.call from wanted as w join pg_proc as p using (oid)
          where not w.may and p.pronargs = 0 and p.prorettype <> 'trigger'::regtype
          and pg_temp.sqlstate_as(%L, format('select pgbaton.%%I()', p.proname)) <> '42501'$$, :'role'
    ),
    'what it may not call fails as such'
);
select is_empty(
    format(
        $$select c.oid::regclass, statement from pg_class as c
          cross join lateral unnest(array[
              'select from %%s', 'delete from %%s', 'truncate %%s', 'lock table %%s', 'drop table %%s',
              'create trigger t before delete on %%s execute function pg_catalog.suppress_redundant_updates_trigger()'
          ]) as statement
          where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'p')
          and pg_temp.sqlstate_as(%1$L, format(statement, c.oid::regclass)) <> '42501'$$, :'role'
    ),
    'no table can be read, emptied, locked, dropped or given a trigger'
);
select is_empty(
    format(
        $$select c.oid::regclass, privilege from pg_class as c cross join unnest('{select,insert,update,delete,truncate,references,trigger}'::text[]) as privilege
          where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'p') and (
              has_table_privilege(%1$L, c.oid, privilege)
              or (privilege in ('select', 'insert', 'update', 'references') and has_any_column_privilege(%1$L, c.oid, privilege))
          )
          union all
          select c.oid::regclass, privilege from pg_class as c cross join unnest('{usage,select,update}'::text[]) as privilege
          where c.relnamespace = 'pgbaton'::regnamespace and c.relkind = 'S' and has_sequence_privilege(%1$L, c.oid, privilege)$$, :'role'
    ),
    'nor written, nor may a sequence be drawn from'
);
select results_eq(
    format(
        'select has_schema_privilege(%1$L, ''pgbaton'', ''usage''), has_schema_privilege(%1$L, ''pgbaton'', ''create''),
         has_database_privilege(%1$L, current_database(), ''create'')', :'role'
    ),
    'values (true, false, false)', 'it uses the schema and makes nothing in it'
);
select is_empty(
    format(
        $$select state from unnest(array[
            pg_temp.sqlstate_as(%1$L, 'create table pgbaton.x ()'), pg_temp.sqlstate_as(%1$L, 'create function pgbaton._now() returns int language sql as ''select 1'''),
            pg_temp.sqlstate_as(%1$L, 'create or replace function pgbaton.version() returns text language sql as ''select 1'''),
            pg_temp.sqlstate_as(%1$L, 'alter function pgbaton.version() owner to ' || %1$L), pg_temp.sqlstate_as(%1$L, 'grant execute on all functions in schema pgbaton to public'),
            pg_temp.sqlstate_as(%1$L, 'alter type pgbaton.job_state add value ''x''')
        ]) as state where state <> '42501'$$, :'role'
    ),
    'nor can it change what is there'
);
