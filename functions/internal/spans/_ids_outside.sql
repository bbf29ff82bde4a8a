create or replace function pgbaton._ids_outside(job_ids bigint[], spans pgbaton.span[])
returns bigint[]
language sql immutable parallel safe
as $$
    select array(
        select i.id from unnest(job_ids) as i (id)
        where not exists (select from unnest(spans) as s where i.id between s.lo and s.hi)
    )
$$;
comment on function pgbaton._ids_outside(bigint[], pgbaton.span[]) is
'The ids that are not in the spans.';
