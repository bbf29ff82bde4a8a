create or replace function pgbaton._lane_heads(
    queue_ids integer[], job_types text[], tags text[], max_lanes integer,
    out lane_ids integer[], out priorities integer[], out starts bigint[], out heads bigint[], out are_behind boolean[]
)
language plpgsql volatile
as $$
begin
    select
        array_agg(h.lane_id), array_agg(h.priority), array_agg(h.start), array_agg(h.head), array_agg(h.is_behind)
    into lane_ids, priorities, starts, heads, are_behind
    from (
        select
            l.id as lane_id, l.priority, least(f.watermark, f.rewind) as start, h.position as head,
            f.rewind is not null or h.position >= f.watermark + 64 * 256 as is_behind
        from pgbaton.lane as l
        cross join lateral (
            select
                case
                    when l.has_watermark then coalesce((
                        select w.value from pgbaton.watermark as w
                        where w.kind = 'lane' and w.lane_id = l.id
                        order by w.kind desc, w.lane_id desc, w.value desc
                        limit 1
                    ), 0)
                    else 0
                end as watermark,
                case
                    when exists (select from pgbaton.rewind) then (
                        select r.position from pgbaton.rewind as r
                        where r.lane_id = l.id
                        order by r.lane_id, r.position
                        limit 1
                    )
                end as rewind
            offset 0
        ) as f
        cross join lateral (
            select s.position from pgbaton.span as s
            where s.lane_id = l.id and s.ready and s.position >= least(f.watermark, f.rewind)
            order by s.lane_id, s.position
            limit 1
        ) as h
        where l.queue_id = any (queue_ids)
            and (job_types is null or l.job_type = any (job_types))
            and l.tags @> _lane_heads.tags
        order by l.priority desc, h.position
        limit max_lanes
    ) as h;
end;
$$;
comment on function pgbaton._lane_heads(integer[], text[], text[], integer) is
'Lanes that match and have claimable work, first to be served first, as parallel arrays (null: none): where their
scan starts, their first claimable position, and whether their watermark is worth moving.';
