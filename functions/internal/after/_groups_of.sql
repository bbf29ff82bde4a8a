create or replace function pgbaton._groups_of(edges integer)
returns table (level integer, no integer, last integer)
language plpgsql immutable parallel safe
as $$
begin
    return query
    select l.level, n.no, least(n.no * 16 + 15, edges - 1)
    from generate_series(0, 4) as l (level)
    cross join lateral generate_series(0, (edges - 1) >> (4 * (l.level + 1))) as n (no)
    where l.level = 0 or edges > 1::bigint << (4 * l.level);
end;
$$;
comment on function pgbaton._groups_of(integer) is
'The rows of job_wait of a job with so many edges; last: of level 0, the ordinal of the edge that is watched first.';
