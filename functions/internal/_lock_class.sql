create or replace function pgbaton._lock_class()
returns integer
language sql immutable parallel safe
as $$ select 1885823585 $$;
comment on function pgbaton._lock_class() is
'First of the two integers of every advisory lock of pgbaton (the bytes "pgba"). No search_path, so that it
inlines.';
