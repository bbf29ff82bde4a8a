create or replace function pgbaton._wake(lane_ids integer[], run_at timestamptz default null)
returns void
language plpgsql volatile
as $$
begin
    -- A full queue would fail the transaction at its commit. Who is not woken looks by itself after max_wait.
    if pg_notification_queue_usage() > 0.5 then
        return;
    end if;
    perform pg_notify(c.channel, ''), nextval('pgbaton.wake_up_seq')
    from (
        select distinct s.channel
        from pgbaton.sleeper as s
        inner join pgbaton.lane as l on l.id = any (lane_ids)
        where (s.queue_ids is null or l.queue_id = any (s.queue_ids))
            and (s.job_types is null or l.job_type = any (s.job_types))
            and l.tags @> s.tags
            and (run_at is null or s.asleep_until > run_at)
    ) as c;
end;
$$;
comment on function pgbaton._wake(integer[], timestamptz) is
'Notifies each worker that is asleep on one of these lanes, once; none while the notification queue is more
than half full. wake_up_seq counts them. With run_at, only those that would sleep longer: they come, find nothing
yet, and lie down until then.';
