create or replace function pgbaton.version()
returns text
language sql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$ select '@version@' $$;
comment on function pgbaton.version() is
'Version of the installed pgbaton.';
