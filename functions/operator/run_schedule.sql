create or replace function pgbaton.run_schedule(name text)
returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue text;
    v_schedule pgbaton.schedule;
begin
    perform pgbaton._require_all_queues('operate');
    v_queue := (
        select q.name from pgbaton.schedule as s inner join pgbaton.queue as q on q.id = s.queue_id
        where s.name = run_schedule.name
    );
    if v_queue is not null then
        perform pgbaton._enter_queue(v_queue, 'operate');
    end if;
    select s.* into v_schedule from pgbaton.schedule as s where s.name = run_schedule.name for update;
    if not found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('schedule "%s" does not exist', name),
            hint = 'pgbaton.list_schedules() shows those there are.';
    end if;
    v_schedule := pgbaton._enqueue_scheduled(v_schedule, pgbaton._now());
    if v_schedule.last_error is not null then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('schedule "%s" cannot run: %s', name, v_schedule.last_error),
            hint = 'Its queue was changed since. Make it again with pgbaton.create_schedule().';
    end if;
    update pgbaton.schedule as s
    set last_run_at = v_schedule.last_run_at, last_job_id = v_schedule.last_job_id, last_error = null
    where s.name = v_schedule.name;
    perform pgbaton._audit('run_schedule', v_queue, v_schedule.last_job_id, v_schedule.singleton_key, name);
    return v_schedule.last_job_id;
end;
$$;
comment on function pgbaton.run_schedule(text) is
'Enqueues the job of a schedule now, whatever its times are and also while it is paused, and returns its id. When the
policy of its queue allows no further job of its key, it returns the id of the job that is queued. Raises PB009 or
22023.';
