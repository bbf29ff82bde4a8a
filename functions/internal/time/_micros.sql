create or replace function pgbaton._micros(at timestamptz)
returns bigint
language sql stable parallel safe
as $$ select (extract(epoch from at) * 1000000)::bigint $$;
comment on function pgbaton._micros(timestamptz) is
'Microseconds since 1970, the unit of time watermarks. No search_path, so that it inlines.';
