create or replace function pgbaton._day(at timestamptz)
returns date
language sql immutable parallel safe
as $$ select (at at time zone 'UTC')::date $$;
comment on function pgbaton._day(timestamptz) is
'UTC day of an instant: the partition of a job enqueued then. No search_path, so that it inlines.';
