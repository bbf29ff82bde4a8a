create or replace function pgbaton._recheck_watermarks(proven xid8)
returns bigint
language plpgsql volatile
as $$
declare
    v_released_from constant bigint := pgbaton._released_from();
    v_count bigint;
begin
    insert into pgbaton.rewind (lane_id, position)
    select l.id, f.position
    from pgbaton.lane as l
    cross join lateral (
        select w.value as up_to, w.below_xid from pgbaton.watermark as w
        where w.kind = 'lane' and w.lane_id = l.id
        order by w.kind desc, w.lane_id desc, w.value desc
        limit 1
    ) as d
    cross join lateral (
        select s.position from pgbaton.claimable_span as s
        where s.lane_id = l.id and s.position < d.up_to and s.position >= coalesce((
            select w.value from pgbaton.watermark as w
            where w.kind = 'lane' and w.lane_id = l.id and w.below_xid < _recheck_watermarks.proven
            order by w.kind desc, w.lane_id desc, w.value desc
            limit 1
        ), 0)
        order by s.lane_id, s.position
        limit 1
    ) as f
    where l.has_watermark and d.below_xid >= _recheck_watermarks.proven and not exists (
        select from pgbaton.rewind as r
        where r.lane_id = l.id and r.id >= v_released_from and r.position <= f.position
    );
    get diagnostics v_count = row_count;
    return v_count;
end;
$$;
comment on function pgbaton._recheck_watermarks(xid8) is
'Looks for claimable spans that were committed behind a watermark that a long transaction kept from being
proven (those from proven on), and sends the scan of their lane back to them. Returns how many lanes that were.';
