create or replace function pgbaton._merge_neighbours(
    lone_los bigint[], out los bigint[], out resized_los bigint[], out resized_his bigint[]
)
language plpgsql volatile
as $$
begin
    -- Ids in a block of 64 keep a span within bounds.
    with marked as (
        select
            s.*,
            s.lo - row_number() over (
                partition by s.lane_id, s.day, s.attempt, s.extra_attempts, s.run_at, s.started_at order by s.lo
            ) as run
        from pgbaton.span as s
        where s.lo = any (lone_los)
    ), runs as materialized (
        select array_agg(m.lo order by m.lo) as members
        from marked as m
        group by m.lane_id, m.day, m.attempt, m.extra_attempts, m.run_at, m.started_at, m.run, (m.lo - 1) / 64
    ), absorbed as (
        delete from pgbaton.span as s
        where s.lo = any (array(select a.lo from runs as r cross join lateral unnest(r.members[2:]) as a (lo)))
    )
    select
        array_agg(r.members[1]),
        array_agg(r.members[1]) filter (where cardinality(r.members) > 1),
        array_agg(r.members[1] + (cardinality(r.members) - 1)) filter (where cardinality(r.members) > 1)
    into los, resized_los, resized_his
    from runs as r;
end;
$$;
comment on function pgbaton._merge_neighbours(bigint[]) is
'Of locked spans of one without a key, those that were enqueued one after the other become one span: the first
of them remains and the others go. The caller gives each of resized_los its new hi.';
