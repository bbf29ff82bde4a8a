create or replace function pgbaton._drop_days(at timestamptz)
returns integer
language plpgsql volatile
set lock_timeout = '50ms'
as $$
declare
    v_day date;
    v_count integer := 0;
begin
    for v_day in
        select d.day
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
    loop
        if pgbaton._drop_day(v_day, at) then
            v_count := v_count + 1;
        end if;
    end loop;
    return v_count;
end;
$$;
comment on function pgbaton._drop_days(timestamptz) is
'Drops the days of which nothing needs to be kept, and returns how many. Raises 55P03 when a table is in use
for longer than 50 ms.';
