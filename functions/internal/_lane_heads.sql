create or replace function pgbaton._lane_heads(
    queue_ids integer[], job_types text[], tags text[], max_lanes integer
)
returns table (lane_id integer, priority integer, start bigint, head bigint, is_behind boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    select l.id, l.priority, f.start, h.position, f.rewound or h.position >= f.start + 64 * 256
    from pgbaton.lane as l
    cross join lateral (
        select
            pgbaton._lane_start(l.id) as start,
            exists (select from pgbaton.rewind as r where r.lane_id = l.id offset 0) as rewound
        offset 0
    ) as f
    cross join lateral (
        select s.position from pgbaton.span as s
        where s.lane_id = l.id and s.ready and s.position >= f.start
        order by s.lane_id, s.position
        limit 1
    ) as h
    where l.queue_id = any (queue_ids)
        and (job_types is null or l.job_type = any (job_types))
        and l.tags @> _lane_heads.tags
    order by l.priority desc, h.position
    limit max_lanes;
end;
$$;
comment on function pgbaton._lane_heads(integer[], text[], text[], integer) is
'Lanes that match and have claimable work, first to be served first: where their scan starts, their first claimable position,
and whether their watermark is worth moving.';
