create or replace function pgbaton._ids_outside(job_ids bigint[], spans pgbaton.span[])
returns bigint[]
language sql immutable parallel safe
as $$
    select array(
        select i.id from unnest(job_ids) as i (id)
        -- Hashed: not each compared with each.
        where i.id not in (
            select g.id from unnest(spans) as s cross join lateral generate_series(s.lo, s.hi) as g (id)
        )
    )
$$;
comment on function pgbaton._ids_outside(bigint[], pgbaton.span[]) is
'The ids that are not in the spans.';
