create or replace function pgbaton._fits(payload jsonb)
returns boolean
language sql stable parallel safe
as $$
    -- In an array a value that was stored compressed has its full size. Each level takes eight bytes, but a number
    -- takes few bytes however long its text is: 1e5000 takes ten.
    select case
        when pg_catalog.pg_column_size(array[payload]) < 4000
            and pg_catalog.octet_length(payload::text) < 4000 then true
        else pg_catalog.pg_column_size(array[payload]) <= 16777216
            and not pg_catalog.jsonb_path_exists(payload, '$.**{501}')
            and not pg_catalog.jsonb_path_exists(payload, '$.** ? (@ >= 1e4000 || @ <= -1e4000)')
    end
$$;
comment on function pgbaton._fits(jsonb) is
'Whether a payload has at most 16 MB, 500 levels of nesting and 4,000 digits before the point of each number. No
search_path, so that it inlines.';
