-- Calls every public function as a role. Wants the variables role (who calls) and may (whose functions it may call: a,b), after "begin".
-- What it may is done without an error, what it may not is refused with 42501; one assertion each, so that the output reads as the
-- list of what the role can do.
\ir ../lib/fixtures.sql
\ir calls.sql
create function pg_temp.sqlstate_as(role name, statement text) returns text
language plpgsql as $$
declare
    v_state text := '00000';
begin
    begin
        execute format('set local role %I', role);
        execute statement;
        raise exception using errcode = 'TAP01';  -- undoes it
    exception
        when sqlstate 'TAP01' then null;
        when others then v_state := sqlstate;
    end;
    return v_state;
end;
$$;
create temporary table verdict as
select
    f.name, pg_temp.call(f.oid) as call, pg_temp.sqlstate_as(:'role', pg_temp.call(f.oid)) as state,
    exists (select from who_may as w where w.name = f.name and w.who = any (string_to_array(:'may', ','))) as may
from public_function as f;

select plan(5 + (select count(*)::integer from verdict));
select set_eq(
    $$select p.proname::text from pg_proc as p where p.pronamespace = 'pgbaton'::regnamespace and p.proname !~ '^_'$$,
    'select name from who_may', 'who_may in calls.sql holds every public function: say there who may call a new one'
);
select is_empty(
    'select function, argument from argument where is_needed and value is null',
    'sample in calls.sql has a value for each argument without a default'
);
select is(
    v.state, case when v.may then '00000' else '42501' end, case when v.may then 'may: ' else 'may not: ' end || v.name
)
from verdict as v order by v.may desc, v.name;
select is_empty(
    format(
        $$select p.oid::regprocedure from pg_proc as p
          where p.pronamespace = 'pgbaton'::regnamespace and p.proname ~ '^_' and has_function_privilege(%L, p.oid, 'execute')$$, :'role'
    ),
    'may not: any internal function'
);
select set_eq(
    format(
        $$select c.relname::text from pg_class as c where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'p', 'v', 'S')
          and pg_temp.sqlstate_as(%L, format('select from pgbaton.%%I', c.relname)) <> '42501'$$, :'role'
    ),
    format('select unnest(%L::text[])', :'reads'), format('may read: %s', :'reads')
);
select set_eq(
    format(
        $$select c.relname::text from pg_class as c where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'p', 'v')
          and (
              has_any_column_privilege(%1$L, c.oid, 'insert') or has_any_column_privilege(%1$L, c.oid, 'update')
              or has_table_privilege(%1$L, c.oid, 'delete') or has_table_privilege(%1$L, c.oid, 'truncate')
              or has_table_privilege(%1$L, c.oid, 'trigger') or has_table_privilege(%1$L, c.oid, 'references')
          )$$, :'role'
    ),
    format('select unnest(%L::text[])', :'writes'), format('may write: %s', :'writes')
);
