create or replace function pgbaton._upkeep_bounds()
returns table (
    due_from timestamptz, leases_from timestamptz, release_horizon bigint, released_from bigint, swept_at bigint
)
language sql stable
rows 1
as $$
    select
        pgbaton._since(coalesce((
            select w.value from pgbaton.watermark as w
            where w.kind = 'due' and w.lane_id = 0
            order by w.kind desc, w.lane_id desc, w.value desc limit 1
        ), 0)),
        pgbaton._since(coalesce((
            select w.value from pgbaton.watermark as w
            where w.kind = 'lease' and w.lane_id = 0
            order by w.kind desc, w.lane_id desc, w.value desc limit 1
        ), 0)),
        coalesce((
            select w.value from pgbaton.watermark as w
            where w.kind = 'release_horizon' and w.lane_id = 0
            order by w.kind desc, w.lane_id desc, w.value desc limit 1
        ), 0),
        coalesce((
            select w.value from pgbaton.watermark as w
            where w.kind = 'released' and w.lane_id = 0
            order by w.kind desc, w.lane_id desc, w.value desc limit 1
        ), 0),
        coalesce((
            select w.value from pgbaton.watermark as w
            where w.kind = 'sweep' and w.lane_id = 0
            order by w.kind desc, w.lane_id desc, w.value desc limit 1
        ), 0)
    offset 0
$$;
comment on function pgbaton._upkeep_bounds() is
'Where the scans of the upkeep may start, from the top of the watermarks. Who asks for some of them reads no others: no
search_path, so that it inlines.';
