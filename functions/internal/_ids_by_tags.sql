create or replace function pgbaton._ids_by_tags(tags text[])
returns bigint[]
language plpgsql stable
as $$
declare
    v_tags constant text[] := pgbaton._normal_tags(tags);
begin
    return array(
        select j.id
        from pgbaton.job as j
        inner join pgbaton.lane as l on l.id = j.lane_id
        where l.tags @> v_tags
    );
end;
$$;
comment on function pgbaton._ids_by_tags(text[]) is
'Ids of all jobs, live or ended, that carry all of the tags. Raises 22004 or 22023.';
