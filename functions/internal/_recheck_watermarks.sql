create or replace function pgbaton._recheck_watermarks(proven xid8)
returns bigint
language plpgsql volatile
as $$
declare
    v_count bigint;
begin
    with doubted as (
        select
            w.lane_id, max(w.value) as up_to,
            coalesce(max(w.value) filter (where w.below_xid < _recheck_watermarks.proven), 0) as start
        from pgbaton.watermark as w
        where w.kind = 'lane'
        group by w.lane_id
        having bool_or(w.below_xid >= _recheck_watermarks.proven)
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
comment on function pgbaton._recheck_watermarks(xid8) is
'Looks for claimable spans that were committed behind a watermark that a long transaction kept from being
proven (those from proven on), and sends the scan of their lane back to them. Returns how many lanes that were.';
