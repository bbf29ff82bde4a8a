create or replace function pgbaton._mend_clock(at timestamptz)
returns jsonb
language plpgsql volatile
as $$
declare
    v_limit constant timestamptz := at + interval '1 minute';
    v_ahead interval;
    v_is_first boolean;
    v_failed jsonb := jsonb '{}';
    v_name text;
begin
    -- For ten minutes, since what somebody has locked is left alone.
    select pgbaton._since(w.value) - w.recorded_at, w.lane_id = 0 into v_ahead, v_is_first
    from pgbaton.watermark as w
    where w.kind = 'clock' and w.recorded_at > at - interval '10 minutes'
    order by w.recorded_at desc
    limit 1;
    if not found then
        return jsonb '{}';
    end if;
    update pgbaton.watermark as w set lane_id = 1 where w.kind = 'clock' and w.lane_id = 0;

    perform pgbaton._mend_leases(at, case when v_is_first then v_ahead end);
    -- A retry waits as long as it was to wait.
    update only pgbaton.span as s
    set run_at = at + (s.run_at - s.changed_at), changed_at = at
    where s.lo = any (array(
        select r.lo from only pgbaton.span as r
        where r.state in ('retry', 'unknown_retry') and not r.ready and r.run_at > at and r.changed_at > v_limit
        order by r.lo
        for update skip locked
    ));
    update pgbaton.worker as w
    set heartbeat_at = at, started_at = least(w.started_at, at)
    where w.heartbeat_at > v_limit;
    update pgbaton.sleeper as s
    set asleep_at = at, asleep_until = at + (s.asleep_until - s.asleep_at)
    where s.id = any (array(select o.id from pgbaton.sleeper as o where o.asleep_at > v_limit for update skip locked));
    -- A count of ended jobs rests for a while.
    update pgbaton.counted_day as d set counted_at = at, next_at = at
    where d.day = '-infinity' and d.counted_at > v_limit;
    -- As cron does: by less than three hours, what ran in the time that comes twice does not run again.
    if v_ahead > '3 hours' then
        for v_name in
            select s.name from pgbaton.schedule as s where s.next_run_at > at order by s.name for update skip locked
        loop
            v_failed := v_failed || coalesce(pgbaton._try_step('times of a schedule', at, v_name) -> 'failed', '{}');
        end loop;
    end if;
    return jsonb_build_object('failed', v_failed);
end;
$$;
comment on function pgbaton._mend_clock(timestamptz) is
'What a clock that was ahead left behind once it was set back, as _forget_times_ahead noted it: leases, retries,
heartbeats, sleepers and schedules whose times were computed from it are as if they had been made now. Times that
somebody gave (run_at) stay, and so do those that only keep something for longer.';
