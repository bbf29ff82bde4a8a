create or replace function pgbaton._run_schedules(at timestamptz)
returns bigint
language plpgsql volatile
as $$
declare
    v_schedule pgbaton.schedule;
    v_runs integer;
    v_count bigint := 0;
begin
    for v_schedule in
        select s.* from pgbaton.schedule as s
        where not s.is_paused and s.next_run_at <= at
        -- Their keys are locked one by one until the end: in the order of all producers.
        order by pgbaton._stripe(s.queue_id, coalesce(s.singleton_key, '')), s.name
        for update skip locked
    loop
        -- The policy of the queue is as it is until the end. While set_fifo_mode or drop_queue is at it: another time.
        continue when not pg_try_advisory_xact_lock_shared(pgbaton._lock_class() + 1, (
            select hashtext(q.name) & 255 from pgbaton.queue as q where q.id = v_schedule.queue_id
        ));
        v_runs := 0;
        while v_schedule.next_run_at <= at and v_runs < 1000 loop
            -- Later than a minute is missed.
            if v_schedule.missed_runs <> 'skip' or v_schedule.next_run_at > at - interval '1 minute' then
                v_runs := v_runs + 1;
            end if;
            v_schedule.next_run_at := pgbaton._cron_next(
                v_schedule.cron, v_schedule.time_zone,
                case v_schedule.missed_runs
                    when 'coalesce' then at
                    when 'skip' then greatest(v_schedule.next_run_at, at - interval '1 minute')
                    else v_schedule.next_run_at
                end
            );
        end loop;
        for v_run in 1 .. v_runs loop
            v_schedule := pgbaton._run_schedule(v_schedule, at);
        end loop;
        update pgbaton.schedule as s
        set next_run_at = v_schedule.next_run_at, last_run_at = v_schedule.last_run_at,
            last_job_id = v_schedule.last_job_id, last_error = v_schedule.last_error
        where s.name = v_schedule.name;
        v_count := v_count + v_runs;
    end loop;
    return v_count;
end;
$$;
comment on function pgbaton._run_schedules(timestamptz) is
'Enqueues what schedules are due and returns how many jobs that were; at most 1000 of one schedule a call.';
