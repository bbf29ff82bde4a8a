create or replace function pgbaton._first_in_line(queue_id integer)
returns timestamptz
language plpgsql volatile
as $$
declare
    v_heads record;
begin
    select h.lane_ids, h.heads into v_heads
    from pgbaton.queue as q
    cross join lateral pgbaton._heads_of(q.id, q.policy, 1000) as h
    where q.id = _first_in_line.queue_id;
    return (
        select min(greatest(j.created_at, s.run_at, s.changed_at))
        from unnest(v_heads.lane_ids, v_heads.heads) as h (lane_id, position)
        cross join lateral (
            select n.lo, n.day, n.run_at, n.changed_at from pgbaton.claimable_span as n
            where n.lane_id = h.lane_id and n.position = h.position
            offset 0
        ) as s
        cross join lateral (
            select k.created_at from pgbaton.job as k where k.id = s.lo and k.day = s.day offset 0
        ) as j
    );
end;
$$;
comment on function pgbaton._first_in_line(integer) is
'Since when the first claimable job of a queue could be claimed, null if there is none. Reads the first job of each
lane, of at most 1,000 lanes.';
