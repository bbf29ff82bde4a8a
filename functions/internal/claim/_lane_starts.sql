create or replace function pgbaton._lane_starts(
    queue_ids integer[], plain_ids integer[], job_types text[], tags text[], unsettled_from bigint
)
returns pgbaton.lanes
language plpgsql volatile
as $$
declare
    v_lanes pgbaton.lanes;
begin
    select
        array_agg(f.lane_id), array_agg(f.priority), array_agg(f.is_plain), array_agg(f.watermark)
    into v_lanes.lane_ids, v_lanes.priorities, v_lanes.are_plain, v_lanes.watermarks
    from (
        select
            l.id as lane_id, l.priority,
            coalesce(plain_ids[width_bucket(l.queue_id, plain_ids)] = l.queue_id, false) as is_plain,
            case
                when l.has_watermark then coalesce((
                    select w.value from pgbaton.watermark as w
                    where w.kind = 'lane' and w.lane_id = l.id
                    order by w.kind desc, w.lane_id desc, w.value desc
                    limit 1
                ), 0)
                else 0
            end as watermark
        from pgbaton.lane as l
        where l.queue_id = any (queue_ids)
            and (job_types is null or l.job_type = any (job_types))
            and l.tags @> _lane_starts.tags
        offset 0
    ) as f;
    if unsettled_from is null then  -- no rewind is to be read
        v_lanes.starts := v_lanes.watermarks;
    else
        select array_agg(least(l.watermark, (
            select min(r.position) from pgbaton.rewind as r
            where r.lane_id = l.lane_id and r.id >= unsettled_from
        )) order by l.ordinal)
        into v_lanes.starts
        from unnest(v_lanes.lane_ids, v_lanes.watermarks) with ordinality as l (lane_id, watermark, ordinal);
    end if;
    return v_lanes;
end;
$$;
comment on function pgbaton._lane_starts(integer[], integer[], text[], text[], bigint) is
'Lanes of the queues that match, without heads: nobody has looked yet what is there. plain_ids: which of the queues are
standard ones, in order. unsettled_from: as _unsettled_from has it.';
