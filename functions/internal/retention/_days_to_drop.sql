create or replace function pgbaton._days_to_drop(at timestamptz)
returns text[]
language plpgsql volatile
as $$
begin
    -- An older snapshot does not see all that is to be kept. And once in ten minutes at most: it looks at whole days,
    -- and a long transaction makes each try a stall of 50 ms.
    if not pgbaton._is_read_committed() or exists (
        select from pgbaton.watermark as w
        where w.kind = 'retention' and w.lane_id = 0 and w.value > pgbaton._micros(at - interval '10 minutes')
    ) then
        return '{}';
    end if;
    insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
    values ('retention', 0, pgbaton._micros(at), pg_current_xact_id(), at);
    return array(
        select to_char(d.day, 'YYYY-MM-DD')
        from (
            select to_date(substring(c.relname from '[0-9]{8}$'), 'YYYYMMDD') as day
            from pg_inherits as i
            inner join pg_class as c on c.oid = i.inhrelid
            where i.inhparent in (
                'pgbaton.job'::regclass, 'pgbaton.job_history'::regclass, 'pgbaton.job_report'::regclass,
                'pgbaton.job_error'::regclass
            )
            union
            select j.day from pgbaton.job_default as j
        ) as d
        where d.day < pgbaton._day(pgbaton._after(at, (
            select -coalesce(min(q.retention), '0') from pgbaton.queue as q
        )))
        order by 1
    );
end;
$$;
comment on function pgbaton._days_to_drop(timestamptz) is
'The days that are older than the shortest retention of a queue; of most of them nothing needs to be kept.';
