create or replace function pgbaton._enqueue_scheduled(schedule pgbaton.schedule, at timestamptz)
returns pgbaton.schedule
language plpgsql volatile
as $$
declare
    v_schedule pgbaton.schedule := schedule;
    v_queue pgbaton.queue;
begin
    select q.* into strict v_queue from pgbaton.queue as q where q.id = schedule.queue_id;
    begin
        perform pgbaton._check_key(v_queue, schedule.singleton_key);
        v_schedule.last_job_id := pgbaton._queued_job(v_queue, schedule.singleton_key);
        if v_schedule.last_job_id is null then
            v_schedule.last_job_id := nextval('pgbaton.job_id_seq');
            perform pgbaton._add_job(
                v_schedule.last_job_id, v_queue,
                pgbaton._lane_id(v_queue, schedule.priority, schedule.job_type, schedule.tags), null, schedule.payload,
                schedule.singleton_key, null
            );
        end if;
        v_schedule.last_run_at := at;
        v_schedule.last_error := null;
    exception
        -- One schedule whose queue has changed meanwhile must not keep the others from running.
        when sqlstate 'PB005' or sqlstate 'PB010' then
            v_schedule.last_error := sqlerrm;
    end;
    return v_schedule;
end;
$$;
comment on function pgbaton._enqueue_scheduled(pgbaton.schedule, timestamptz) is
'Enqueues a schedule''s job, unless the policy of its queue has one of its key queued already, and returns the
schedule with what came of it.';
