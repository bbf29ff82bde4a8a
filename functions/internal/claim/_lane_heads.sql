create or replace function pgbaton._lane_heads(lanes pgbaton.lanes, max_lanes integer)
returns pgbaton.lanes
language plpgsql volatile
as $$
declare
    v_lanes pgbaton.lanes;
begin
    select
        array_agg(h.lane_id), array_agg(h.priority), array_agg(h.is_plain), array_agg(h.watermark), array_agg(h.start),
        array_agg(h.head)
    into v_lanes
    from (
        select l.*, h.position as head
        from unnest(
            lanes.lane_ids, lanes.priorities, lanes.are_plain, lanes.watermarks, lanes.starts
        ) as l (lane_id, priority, is_plain, watermark, start)
        cross join lateral (
            select case
                when l.is_plain then (
                    select s.position from pgbaton.ready_span as s
                    where s.lane_id = l.lane_id and s.position >= l.start
                    order by s.lane_id, s.position
                    limit 1
                )
                else (
                    select s.position from only pgbaton.span as s
                    where s.lane_id = l.lane_id and s.ready and s.position >= l.start
                    order by s.lane_id, s.position
                    limit 1
                )
            end as position
            offset 0
        ) as h
        where h.position is not null
        order by l.priority desc, h.position
        limit max_lanes
    ) as h;
    return v_lanes;
end;
$$;
comment on function pgbaton._lane_heads(pgbaton.lanes, integer) is
'Those of the lanes, from _lane_starts, that have claimable work, first to be served first, with their heads.';
