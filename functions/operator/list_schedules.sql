create or replace function pgbaton.list_schedules()
returns setof pgbaton.schedule_info
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    select
        s.name, q.name, s.cron, s.time_zone, s.payload, s.priority, s.singleton_key, s.job_type, s.tags, s.missed_runs,
        s.is_paused, s.next_run_at, s.last_run_at, s.last_job_id, s.last_error
    from pgbaton.schedule as s
    inner join pgbaton.queue as q on q.id = s.queue_id
    where q.name in (select pgbaton.granted_queues('operate'))
    order by s.name;
end;
$$;
comment on function pgbaton.list_schedules() is
'All schedules by name: what each enqueues, when next, and what it did last.';
