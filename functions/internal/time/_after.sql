create or replace function pgbaton._after(at timestamptz, wait interval)
returns timestamptz
language sql immutable parallel safe
as $$ select (at at time zone 'UTC' + wait) at time zone 'UTC' $$;
comment on function pgbaton._after(timestamptz, interval) is
'An instant and a wait. A day is 24 hours whatever the caller''s time zone, whose clock changes timestamptz +
interval follows. No search_path, so that it inlines.';
