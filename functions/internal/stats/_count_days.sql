create or replace function pgbaton._count_days(max_age interval)
returns void
language plpgsql volatile
as $$
declare
    v_started_at constant timestamptz := pgbaton._now();
    v_day record;
begin
    -- One at a time; on a standby there is only what was counted before.
    if current_setting('transaction_read_only') = 'on'
        or not pg_try_advisory_xact_lock(pgbaton._lock_class(), 1)
        or exists (
            select from pgbaton.counted_day as d
            where d.day = '-infinity' and (d.next_at > v_started_at or d.counted_at > v_started_at - max_age)
        )
    then
        return;
    end if;
    for v_day in
        select n.day, n.changes
        from pgbaton._day_changes() as n
        left join pgbaton.counted_day as d on d.day = n.day
        where d.changes is distinct from n.changes
        order by n.day
    loop
        perform pgbaton._count_day(v_day.day);
        insert into pgbaton.counted_day as d (day, changes, counted_at, next_at)
        values (v_day.day, v_day.changes, v_started_at, v_started_at)
        on conflict on constraint counted_day_pkey do update
        set changes = excluded.changes, counted_at = excluded.counted_at, next_at = excluded.next_at;
    end loop;
    perform pgbaton._fold_counted_days();
    perform pgbaton._count_enqueued();
    -- At most a twentieth of the time goes into counting.
    insert into pgbaton.counted_day as d (day, changes, counted_at, next_at)
    values ('-infinity', 0, v_started_at, v_started_at + 20 * (pgbaton._now() - v_started_at))
    on conflict on constraint counted_day_pkey do update
    set counted_at = excluded.counted_at, next_at = excluded.next_at;
end;
$$;
comment on function pgbaton._count_days(interval) is
'Counts for job_totals the days to which something happened, unless that was done less than max_age ago, another
session is at it or the last time took long.';
