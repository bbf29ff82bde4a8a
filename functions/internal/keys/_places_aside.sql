create or replace function pgbaton._places_aside(
    los bigint[], limited_ids integer[], out slots smallint[], out full_los bigint[]
)
language plpgsql volatile
as $$
declare
    v_limits record;
begin
    select array_agg(l.queue_id) as queue_ids, array_agg(l.size) as sizes into v_limits
    from pgbaton.queue_limit as l where l.queue_id = any (limited_ids) and l.kind = 'key';
    select
        array_agg(
            case
                when k.size is null then null
                when k.taken = '{}' then -101
                else (
                    select (-100 - g.no)::smallint from generate_series(1, cardinality(k.taken) + 1) as g (no)
                    where (-100 - g.no) <> all (k.taken)
                    order by g.no
                    limit 1
                )
            end
            order by k.ordinal
        ),
        array_agg(k.lo) filter (where cardinality(k.taken) + 1 >= k.size)
    into slots, full_los
    from (
        select
            u.lo, u.ordinal,
            case
                when o.held_key is not null then v_limits.sizes[array_position(v_limits.queue_ids, o.queue_id)]
            end as size,
            array(
                select n.slot from only pgbaton.span as n
                where n.queue_id = o.queue_id and n.singleton_key = o.held_key and n.slot < -100
            ) as taken
        from unnest(los) with ordinality as u (lo, ordinal)
        cross join lateral (
            select i.queue_id, i.held_key from only pgbaton.span as i where i.lo = u.lo offset 0
        ) as o
        offset 0
    ) as k;
end;
$$;
comment on function pgbaton._places_aside(bigint[], integer[]) is
'slots: those in which these locked spans, which hold their keys, would run without the batons, in their order; null
where the queue has no key_limit. full_los: which of them are the last that may run of their keys. Which places of a key
are taken is told exactly: only who holds the key starts.';
