create or replace function pgbaton._days_to_drop(at timestamptz)
returns text[]
language plpgsql volatile
as $$
declare
    v_first_kept constant date := pgbaton._day(pgbaton._after(at, (
        select -coalesce(min(q.retention), '0') from pgbaton.queue as q
    )));
    v_days date[];  -- that have partitions
begin
    -- Once in ten minutes at most: it looks at whole days, and a long transaction makes each try a stall of 50 ms.
    if exists (
        select from pgbaton.watermark as w
        where w.kind = 'retention' and w.lane_id = 0 and w.value > pgbaton._micros(at - interval '10 minutes')
    ) then
        return '{}';
    end if;
    v_days := array(
        select d.day from (
            select to_date(substring(c.relname from '[0-9]{8}$'), 'YYYYMMDD') as day
            from pg_inherits as i
            inner join pg_class as c on c.oid = i.inhrelid
            where i.inhparent = any (
                '{pgbaton.job,pgbaton.job_history,pgbaton.job_report,pgbaton.job_error}'::regclass[]
            )
        ) as d
        where d.day < v_first_kept
    );
    if pgbaton._is_read_committed() then
        insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
        values ('retention', 0, pgbaton._micros(at), pg_current_xact_id(), at);
        return array(
            select to_char(u.day, 'YYYY-MM-DD') from unnest(v_days) as u (day)
            union
            select to_char(j.day, 'YYYY-MM-DD') from pgbaton.job_default as j where j.day < v_first_kept
            order by 1
        );
    elsif v_days <> '{}' then  -- an older snapshot does not see all that is to be kept
        raise exception using
            errcode = 'feature_not_supported',
            message = 'days are over that only a call under READ COMMITTED may drop';
    end if;
    return '{}';
end;
$$;
comment on function pgbaton._days_to_drop(timestamptz) is
'The days that are older than the shortest retention of a queue; of most of them nothing needs to be kept.
Raises 0A000 when there are some and the transaction may not drop them.';
