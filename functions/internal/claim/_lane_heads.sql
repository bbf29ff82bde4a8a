create or replace function pgbaton._lane_heads(
    queue_ids integer[], plain_ids integer[], job_types text[], tags text[], max_lanes integer,
    out lane_ids integer[], out priorities integer[], out are_plain boolean[],
    out starts bigint[], out heads bigint[], out steps bigint[]
)
language plpgsql volatile
as $$
begin
    select
        array_agg(h.lane_id), array_agg(h.priority), array_agg(h.is_plain), array_agg(h.start),
        array_agg(h.head), array_agg(h.step)
    into lane_ids, priorities, are_plain, starts, heads, steps
    from (
        select
            l.id as lane_id, l.priority, f.is_plain, least(f.watermark, f.rewind) as start, h.position as head,
            case when f.rewind is not null or h.position >= f.watermark + t.step then t.step end as step
        from pgbaton.lane as l
        cross join lateral (
            select
                coalesce(l.queue_id = any (plain_ids), false) as is_plain,
                case
                    when l.has_watermark then coalesce((
                        select w.value from pgbaton.watermark as w
                        where w.kind = 'lane' and w.lane_id = l.id
                        order by w.kind desc, w.lane_id desc, w.value desc
                        limit 1
                    ), 0)
                    else 0
                end as watermark,
                (
                    select min(r.position) from pgbaton.rewind as r
                    -- From the first that there is: null, and nothing is read, when there is none.
                    where r.lane_id = l.id and r.id >= (
                        select o.id from pgbaton.rewind as o
                        where o.id >= coalesce((
                            select w.value from pgbaton.watermark as w
                            where w.kind = 'released' and w.lane_id = 0
                            order by w.kind desc, w.lane_id desc, w.value desc
                            limit 1
                        ), 0)
                        order by o.id
                        limit 1
                    )
                ) as rewind
            offset 0
        ) as f
        cross join lateral (
            select case
                when f.is_plain then (
                    select s.position from pgbaton.ready_span as s
                    where s.lane_id = l.id and s.position >= least(f.watermark, f.rewind)
                    order by s.lane_id, s.position
                    limit 1
                )
                else (
                    select s.position from only pgbaton.span as s
                    where s.lane_id = l.id and s.ready and s.position >= least(f.watermark, f.rewind)
                    order by s.lane_id, s.position
                    limit 1
                )
            end as position
            offset 0
        ) as h
        -- About sixteen claims: each span leaves one dead entry, and has a ticket.
        cross join lateral (select 1024 * least(max_lanes, 16) as step) as t
        where l.queue_id = any (queue_ids)
            and (job_types is null or l.job_type = any (job_types))
            and l.tags @> _lane_heads.tags
            and h.position is not null
        order by l.priority desc, h.position
        limit max_lanes
    ) as h;
end;
$$;
comment on function pgbaton._lane_heads(integer[], integer[], text[], text[], integer) is
'Lanes that match and have claimable work, first to be served first, as parallel arrays (null: none):
whether they are of a standard queue (plain_ids), whose claimable spans stand in ready_span, where their scan
starts, their first claimable position, and, when their watermark is worth moving, by how much at least.';
