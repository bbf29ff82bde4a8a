create or replace function pgbaton.create_schedule(
    name text,
    queue text,
    cron text,
    time_zone text default 'UTC',
    payload jsonb default '{}',
    priority integer default 100,
    singleton_key text default null,
    job_type text default '',
    tags text[] default '{}',
    missed_runs text default 'coalesce'
)
returns timestamptz
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._enter_queue(queue, 'operate');
    v_now constant timestamptz := pgbaton._now();
    v_allowed integer[];
    v_next_run_at timestamptz;
begin
    perform pgbaton._check_schedule_name(name);
    perform pgbaton._check_payload(payload);
    perform pgbaton._check_key(v_queue, singleton_key);
    if missed_runs is null or missed_runs not in ('coalesce', 'skip', 'all') then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('missed_runs is %s', coalesce(quote_literal(missed_runs), 'null')),
            hint = 'Pass ''coalesce'' (one job for all), ''skip'' (none) or ''all'' (one each).';
    end if;
    if not exists (select from pg_timezone_names as z where z.name = time_zone) then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('time zone %s is unknown', coalesce(quote_literal(time_zone), 'null')),
            hint = 'Pass a name of pg_timezone_names, for example Europe/Berlin.';
    end if;
    v_next_run_at := pgbaton._cron_next(cron, time_zone, v_now);
    if v_next_run_at is null then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('cron expression "%s" never comes true', cron),
            hint = 'Look at its day and month.';
    end if;
    v_allowed := pgbaton._allowed_queues('operate');
    perform pgbaton._lane_id(v_queue, priority, job_type, tags);
    insert into pgbaton.schedule as s (
        name, queue_id, cron, time_zone, payload, priority, singleton_key, job_type, tags, missed_runs, next_run_at,
        created_at
    )
    values (
        create_schedule.name, v_queue.id, cron, time_zone, payload, priority, singleton_key, job_type,
        pgbaton._normal_tags(tags), missed_runs, v_next_run_at, v_now
    )
    on conflict on constraint schedule_pkey do update
    set queue_id = excluded.queue_id, cron = excluded.cron, time_zone = excluded.time_zone,
        payload = excluded.payload, priority = excluded.priority, singleton_key = excluded.singleton_key,
        job_type = excluded.job_type, tags = excluded.tags, missed_runs = excluded.missed_runs,
        -- What is due stays due when the times are the same: a deployment makes its schedules again.
        next_run_at = case
            when s.cron = excluded.cron and s.time_zone = excluded.time_zone then s.next_run_at
            else excluded.next_run_at
        end,
        last_error = null
    where v_allowed is null or s.queue_id = any (v_allowed)
    returning s.next_run_at into v_next_run_at;
    if not found then
        raise exception using
            errcode = 'PB009',
            message = format('schedule "%s" is not one of yours', create_schedule.name),
            hint = 'Names of schedules are the same for all queues: choose another one.';
    end if;
    perform pgbaton._audit('create_schedule', queue, null, null, create_schedule.name);
    return v_next_run_at;
end;
$$;
comment on function pgbaton.create_schedule(
    text, text, text, text, jsonb, integer, text, text, text[], text
) is
'Enqueues a job at the times of a cron expression (minute hour day month weekday) in a time zone, and returns the first
time. Replaces a schedule of that name, which stays paused if it is, and keeps what is due if its times stay.
run_maintenance does the work. When the clocks change, a fixed time that does not exist runs right after the gap, and
one that comes twice runs once.
missed_runs: what to do about times that passed while nobody called run_maintenance: coalesce (one job), skip (none) or
all (one each). priority, singleton_key, job_type and tags are as in enqueue_job.
Raises PB001, PB005, PB009, PB010, PB011, 22004 or 22023.';
