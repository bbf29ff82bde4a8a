create or replace function pgbaton._places_aside(los bigint[])
returns smallint[]
language plpgsql volatile
as $$
begin
    return array(
        select case when t.taken is not null then (
            select (-100 - g.no)::smallint from generate_series(1, cardinality(t.taken) + 1) as g (no)
            where (-100 - g.no) <> all (t.taken)
            order by g.no
            limit 1
        ) end
        from unnest(los) with ordinality as u (lo, ordinal)
        cross join lateral (
            select o.queue_id, o.held_key from only pgbaton.span as o where o.lo = u.lo offset 0
        ) as s
        left join lateral (
            select array(
                select o.slot from only pgbaton.span as o
                where o.queue_id = s.queue_id and o.singleton_key = s.held_key and o.slot < -100
            ) as taken
            from pgbaton.queue_limit as l
            where l.queue_id = s.queue_id and l.kind = 'key' and s.held_key is not null
            offset 0
        ) as t on true
        order by u.ordinal
    );
end;
$$;
comment on function pgbaton._places_aside(bigint[]) is
'The slots in which these locked spans, which hold their keys, would run without the batons, in their order; null where
the queue has no key_limit. Which places of a key are taken is told exactly: only who holds the key starts.';
