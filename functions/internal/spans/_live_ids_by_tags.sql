create or replace function pgbaton._live_ids_by_tags(tags text[])
returns bigint[]
language plpgsql stable
as $$
declare
    v_tags constant text[] := pgbaton._normal_tags(tags);
begin
    return array(
        select g.id
        from pgbaton.span as s
        cross join lateral (select n.tags from pgbaton.lane as n where n.id = s.lane_id offset 0) as l
        cross join lateral generate_series(s.lo, s.hi) as g (id)
        where l.tags @> v_tags and s.state <> 'failed'
    );
end;
$$;
comment on function pgbaton._live_ids_by_tags(text[]) is
'Ids of the live jobs, failed ones left out, that carry all of the tags. Raises 22004 or 22023.';
