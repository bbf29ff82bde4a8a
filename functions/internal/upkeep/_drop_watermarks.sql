create or replace function pgbaton._drop_watermarks(at timestamptz, oldest_xid xid8)
returns void
language plpgsql volatile
as $$
begin
    delete from pgbaton.watermark as w
    where w.ctid = any (array(
        select o.ctid from pgbaton.watermark as o
        where o.recorded_at < at - interval '1 minute'
            and exists (
                select from pgbaton.watermark as n
                where n.kind = o.kind and n.lane_id = o.lane_id and n.value > o.value
                    and n.recorded_at < at - interval '1 minute'
                offset 0
            )
            and (o.below_xid > oldest_xid or exists (
                select from pgbaton.watermark as n
                where n.kind = o.kind and n.lane_id = o.lane_id and n.value > o.value
                    and n.below_xid <= oldest_xid
                offset 0
            ))
        for update skip locked
    ));
end;
$$;
comment on function pgbaton._drop_watermarks(timestamptz, xid8) is
'Drops watermarks of which a higher one will do. Of each kind and lane the highest and the highest proven one
stay.';
