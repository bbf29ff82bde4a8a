create or replace function pgbaton._lane_start(lane_id integer)
returns bigint
language sql stable
as $$
    select least(
        coalesce((
            select w.value from pgbaton.watermark as w
            where w.kind = 'lane' and w.lane_id = _lane_start.lane_id
            order by w.kind desc, w.lane_id desc, w.value desc limit 1
        ), 0),
        (
            select r.position from pgbaton.rewind as r
            where r.lane_id = _lane_start.lane_id
            order by r.lane_id, r.position limit 1
        )
    )
$$;
comment on function pgbaton._lane_start(integer) is
'Where the scan of a lane starts. No search_path, so that it inlines.';
