create or replace function pgbaton._step_aside(los bigint[])
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_los bigint[];
    v_slots smallint[];
    v_spans pgbaton.span[];
begin
    select array_agg(s.lo), array_agg((
        select (-100 - g.no)::smallint from generate_series(1, cardinality(t.taken) + 1) as g (no)
        where (-100 - g.no) <> all (t.taken)
        order by g.no
        limit 1
    ))
    into v_los, v_slots
    from unnest(los) as u (lo)
    cross join lateral (
        select o.lo, o.queue_id, o.held_key from only pgbaton.span as o where o.lo = u.lo offset 0
    ) as s
    cross join lateral (
        select array(
            select o.slot from only pgbaton.span as o
            where o.queue_id = s.queue_id and o.singleton_key = s.held_key and o.slot < -100
        ) as taken
        offset 0
    ) as t;
    with moved as (
        update only pgbaton.span as s
        set held_key = null, slot = v_slots[array_position(v_los, s.lo)]
        where s.lo = any (v_los)
        returning s.*
    )
    select array_agg(m::pgbaton.span) into v_spans from moved as m;
    return v_spans;
end;
$$;
comment on function pgbaton._step_aside(bigint[]) is
'Has these locked spans, which run and hold their keys, of queues with a key_limit, run on without the batons, and
returns them. Which places of a key are taken is told exactly: only who holds the key starts.';
