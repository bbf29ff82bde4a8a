create or replace function pgbaton._since(micros bigint)
returns timestamptz
language sql stable parallel safe
as $$ select timestamptz '1970-01-01 00:00:00+00' + micros * interval '1 microsecond' $$;
comment on function pgbaton._since(bigint) is
'The instant of a time watermark. No search_path, so that it inlines.';
