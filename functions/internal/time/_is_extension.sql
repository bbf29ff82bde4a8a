create or replace function pgbaton._is_extension()
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$ select exists (select from pg_extension as e where e.extname = 'pgbaton') $$;
comment on function pgbaton._is_extension() is
'Whether pgbaton was made by create extension. Then all days share the default partitions.';
