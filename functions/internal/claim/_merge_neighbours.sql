create or replace function pgbaton._merge_neighbours(
    lone_los bigint[], lane_ids integer[],
    out los bigint[], out resized_los bigint[], out resized_his bigint[]
)
language plpgsql volatile
as $$
begin
    with marked as (
        select u.lo, u.lane_id, u.lo - row_number() over (partition by u.lane_id order by u.lo) as run
        from unnest(lone_los, lane_ids) as u (lo, lane_id)
    ), runs as materialized (
        -- Ids in a block of 64 keep a span within bounds.
        select min(m.lo) as first, max(m.lo) as last
        from marked as m
        group by m.lane_id, m.run, (m.lo - 1) / 64
    ), absorbed as (
        delete from pgbaton.span as s
        where s.lo = any (array(
            select a.lo from runs as r cross join lateral generate_series(r.first + 1, r.last) as a (lo)
        ))
    )
    select
        array_agg(r.first),
        array_agg(r.first) filter (where r.last > r.first),
        array_agg(r.last) filter (where r.last > r.first)
    into los, resized_los, resized_his
    from runs as r;
end;
$$;
comment on function pgbaton._merge_neighbours(bigint[], integer[]) is
'Of locked spans of one of the same day, without a key and never claimed, and the lane of each, those that were
enqueued one after the other become one span: the first of them remains and the others go. The caller gives each of
resized_los its new hi.';
