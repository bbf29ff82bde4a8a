create or replace function pgbaton._place_text(kind text, at timestamptz, id bigint)
returns text
language sql immutable parallel safe
as $$ select case when kind = 'failed' then pgbaton._micros(at) || '/' || id else id::text end $$;
comment on function pgbaton._place_text(text, timestamptz, bigint) is
'A place of a search as _search_place reads it.';
