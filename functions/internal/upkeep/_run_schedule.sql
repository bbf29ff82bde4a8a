create or replace function pgbaton._run_schedule(name text, at timestamptz)
returns bigint
language plpgsql volatile
as $$
declare
    v_schedule pgbaton.schedule;
    v_runs bigint := 0;
begin
    select s.* into strict v_schedule from pgbaton.schedule as s where s.name = _run_schedule.name;
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
        v_schedule := pgbaton._enqueue_scheduled(v_schedule, at);
    end loop;
    update pgbaton.schedule as s
    set next_run_at = v_schedule.next_run_at, last_run_at = v_schedule.last_run_at,
        last_job_id = v_schedule.last_job_id, last_error = v_schedule.last_error
    where s.name = v_schedule.name;
    return v_runs;
end;
$$;
comment on function pgbaton._run_schedule(text, timestamptz) is
'Enqueues the jobs of one schedule that is due and returns how many times it ran, at most 1000.';
