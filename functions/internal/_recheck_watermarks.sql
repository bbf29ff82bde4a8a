create or replace function pgbaton._recheck_watermarks()
returns bigint
language plpgsql volatile
as $$
declare
    -- Watermarks whose transactions had ended at the last sweep were proven then.
    v_proven constant xid8 := coalesce((
        select w.below_xid from pgbaton.watermark as w
        where w.kind = 'sweep' and w.lane_id = 0
        order by w.kind desc, w.lane_id desc, w.value desc limit 1
    ), '0'::xid8);
    v_count bigint;
begin
    with doubted as (
        select
            w.lane_id, max(w.value) as up_to,
            coalesce(max(w.value) filter (where w.below_xid < v_proven), 0) as start
        from pgbaton.watermark as w
        where w.kind = 'lane'
        group by w.lane_id
        having bool_or(w.below_xid >= v_proven)
    )
    insert into pgbaton.rewind (lane_id, position)
    select d.lane_id, f.position
    from doubted as d
    cross join lateral (
        select s.position from pgbaton.span as s
        where s.lane_id = d.lane_id and s.ready and s.position >= d.start and s.position < d.up_to
        order by s.lane_id, s.position
        limit 1
    ) as f
    where not exists (
        select from pgbaton.rewind as r where r.lane_id = d.lane_id and r.position <= f.position
    );
    get diagnostics v_count = row_count;
    return v_count;
end;
$$;
comment on function pgbaton._recheck_watermarks() is
'Looks for claimable spans that were committed behind a watermark that a long transaction kept from being
proven, and sends the scan of their lane back to them. Returns how many lanes that were.';
