create or replace function pgbaton._dead_jobs(queue_ids integer[], filter jsonb)
returns setof pgbaton.dead_job
language plpgsql stable
set timezone = 'UTC'
as $$
declare
    v_tags constant text[] := array(select jsonb_array_elements_text(coalesce(nullif(filter -> 'tags', 'null'), '[]')));
begin
    return query
    select
        j.id, q.name, l.job_type, l.tags, j.singleton_key, j.payload, s.attempt, r.last_error, j.created_at,
        s.changed_at, s.held_key is not null
    from pgbaton.span as s
    inner join pgbaton.job as j on j.day = s.day and j.id between s.lo and s.hi
    inner join pgbaton.lane as l on l.id = s.lane_id
    inner join pgbaton.queue as q on q.id = s.queue_id
    left join pgbaton.job_report as r on r.job_id = j.id and r.day = j.day
    where s.state = 'failed' and not s.ready and s.run_at is null
        and (queue_ids is null or s.queue_id = any (queue_ids))
        and (filter ->> 'job_type' is null or l.job_type = filter ->> 'job_type')
        and l.tags @> v_tags
        and (filter ->> 'singleton_key' is null or j.singleton_key = filter ->> 'singleton_key')
        and (filter ->> 'error' is null or position(filter ->> 'error' in coalesce(r.last_error, '')) > 0)
        and (filter ->> 'failed_after' is null or s.changed_at > (filter ->> 'failed_after')::timestamptz)
        and (filter ->> 'failed_before' is null or s.changed_at < (filter ->> 'failed_before')::timestamptz)
        and (filter -> 'payload' is null or j.payload @> (filter -> 'payload'));
end;
$$;
comment on function pgbaton._dead_jobs(integer[], jsonb) is
'The failed jobs of these queues (null: of all) that fit the filter of retry_jobs.';
