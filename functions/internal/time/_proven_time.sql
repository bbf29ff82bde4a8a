create or replace function pgbaton._proven_time(kind text, proven xid8)
returns timestamptz
language sql stable
as $$
    select coalesce(pgbaton._since((
        select w.value from pgbaton.watermark as w
        where w.kind = _proven_time.kind and w.lane_id = 0 and w.below_xid < proven
        order by w.kind desc, w.lane_id desc, w.value desc
        limit 1
    )) - interval '10 seconds', '-infinity')
$$;
comment on function pgbaton._proven_time(text, xid8) is
'Up to when, for kind due or lease, a sweep has found what there was: the highest watermark of a transaction
below that one, less ten seconds for calls that wait before they store the time they read.';
