create or replace function pgbaton._search_kind(filter jsonb)
returns text
language sql immutable parallel safe
as $$
    select case
        when pg_catalog.jsonb_typeof(filter -> 'ids'::text) = 'array'::text then 'ids'::text
        when filter -> 'states'::text = '["failed"]'::jsonb then 'failed'::text
        when filter -> 'states'::text <@ '["active", "cancelling"]'::jsonb
            and filter -> 'states'::text <> '[]'::jsonb then 'leased'::text
        else 'all'::text
    end
$$;
comment on function pgbaton._search_kind(jsonb) is
'How a search goes through the jobs: ids, those that are named; failed, dead letters as they failed; leased, those with
a worker; else all, by their ids.';
