create or replace function pgbaton._released_from(proven xid8 default null)
returns bigint
language plpgsql stable
as $$
begin
    return coalesce((
        select w.value from pgbaton.watermark as w
        where w.kind = 'released' and w.lane_id = 0 and (proven is null or w.below_xid < proven)
        order by w.kind desc, w.lane_id desc, w.value desc
        limit 1
    ), 0);
end;
$$;
comment on function pgbaton._released_from(xid8) is
'The id from which on release rows and rewinds are worth reading: all before it are settled. For a sweep only what one
before has seen to be so, by its transaction (null: all count).';
