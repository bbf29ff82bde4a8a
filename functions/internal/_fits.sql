create or replace function pgbaton._fits(payload jsonb)
returns boolean
language sql stable parallel safe
as $$
    -- In an array a value that was stored compressed has its full size. Each level takes eight bytes.
    select pg_catalog.pg_column_size(array[payload]) < 4000 or (
        pg_catalog.pg_column_size(array[payload]) <= 16777216
        and not pg_catalog.jsonb_path_exists(payload, '$.**{501}')
    )
$$;
comment on function pgbaton._fits(jsonb) is
'Whether a payload has at most 16 MB and 500 levels of nesting. No search_path, so that it inlines.';
