create or replace function pgbaton._ids_outside(job_ids bigint[], spans pgbaton.span[])
returns bigint[]
language plpgsql volatile
as $$
begin
    if spans is null then
        return job_ids;
    elsif (select sum(s.hi - s.lo + 1) from unnest(spans) as s) = cardinality(job_ids) then
        return '{}';
    end if;
    return array(
        select i.id from unnest(job_ids) as i (id)
        where not exists (select from unnest(spans) as s where i.id between s.lo and s.hi)
    );
end;
$$;
comment on function pgbaton._ids_outside(bigint[], pgbaton.span[]) is
'The ids that are not in the spans. All jobs of the spans are among the ids.';
