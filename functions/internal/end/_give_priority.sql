create or replace function pgbaton._give_priority(queue pgbaton.queue, spans pgbaton.span[], priority integer)
returns void
language plpgsql volatile
as $$
declare
    v_old_lanes integer[];
    v_new_lanes integer[];
    v_ready_lanes integer[];
    v_back pgbaton.span[];
begin
    select array_agg(l.id), array_agg(pgbaton._lane_id(queue, _give_priority.priority, l.job_type, l.tags))
    into v_old_lanes, v_new_lanes
    from (
        select n.id, n.job_type, n.tags from pgbaton.lane as n
        where n.id in (select s.lane_id from unnest(spans) as s)
        order by n.id
        offset 0
    ) as l;
    update pgbaton.job as j
    set lane_id = v_new_lanes[array_position(v_old_lanes, j.lane_id)]
    from unnest(spans) as s
    where j.day = s.day and j.id between s.lo and s.hi;
    v_back := array(
        select row(
            s.lo, s.hi, s.position, s.key_position, s.lease_token, s.lease_until, s.claimed_at, s.started_at, s.run_at,
            s.changed_at, s.day, s.queue_id, v_new_lanes[array_position(v_old_lanes, s.lane_id)], s.state, s.attempt,
            s.extra_attempts, s.slot, s.ready, s.singleton_key, s.held_key, s.worker_id, s.policy
        )::pgbaton.span
        from unnest(spans) as s
    );
    perform pgbaton._put(v_back);
    with behind as (
        -- Their place may lie below the lane's watermark.
        insert into pgbaton.rewind (lane_id, position)
        select p.lane_id, min(p.position) from unnest(v_back) as p where p.ready group by p.lane_id
        returning lane_id
    )
    select array_agg(b.lane_id) into v_ready_lanes from behind as b;
    if v_ready_lanes is not null then
        perform pgbaton._wake(v_ready_lanes);  -- who looked meanwhile found nothing
    end if;
end;
$$;
comment on function pgbaton._give_priority(pgbaton.queue, pgbaton.span[], integer) is
'Puts spans that were taken out, and that nobody has claimed, back into the lanes of that priority, at the places they
have by their enqueue. Raises PB010 when the queue may have no more lanes.';
