create or replace function pgbaton._now()
returns timestamptz
language sql volatile
as $$ select clock_timestamp() $$;
comment on function pgbaton._now() is
'The time. The only place that asks for it; a test replaces it. No search_path, so that it inlines.';
