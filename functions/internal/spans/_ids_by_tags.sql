create or replace function pgbaton._ids_by_tags(tags text[])
returns bigint[]
language plpgsql stable
as $$
declare
    v_tags constant text[] := pgbaton._normal_tags(tags);
begin
    return array(
        select g.id
        from (
            select s.lane_id, s.lo, s.hi from pgbaton.span as s
            union all
            select h.lane_id, h.lo, h.hi from pgbaton.job_history as h
        ) as r
        cross join lateral (select n.tags from pgbaton.lane as n where n.id = r.lane_id offset 0) as l
        cross join lateral generate_series(r.lo, r.hi) as g (id)
        where l.tags @> v_tags
    );
end;
$$;
comment on function pgbaton._ids_by_tags(text[]) is
'Ids of all jobs, live or ended, that carry all of the tags. Raises 22004 or 22023.';
