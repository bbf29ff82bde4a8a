create or replace function pgbaton._sums(counts jsonb, further jsonb)
returns jsonb
language sql immutable parallel safe
as $$
    select counts || coalesce(
        jsonb_object_agg(f.name, coalesce((counts ->> f.name)::bigint, 0) + f.count::bigint), '{}'
    )
    from jsonb_each_text(further) as f (name, count)
$$;
comment on function pgbaton._sums(jsonb, jsonb) is
'Two objects of counts, added up.';
