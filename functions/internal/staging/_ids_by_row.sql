create or replace function pgbaton._ids_by_row(job_ids bigint[], is_new boolean[])
returns bigint[]
language plpgsql immutable parallel safe
as $$
begin
    if is_new is null or array_position(is_new, false) is null then
        return job_ids;
    end if;
    return array(
        select case when n.is_new then job_ids[count(*) filter (where n.is_new) over (order by n.ordinal)] end
        from unnest(is_new) with ordinality as n (is_new, ordinal)
        order by n.ordinal
    );
end;
$$;
comment on function pgbaton._ids_by_row(bigint[], boolean[]) is
'The job of each row, from those of the new ones in their order; null where a row is not new. A null is_new: all are.';
