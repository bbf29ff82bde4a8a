create or replace function pgbaton._dead_jobs(queue_id integer, filter jsonb)
returns bigint[]
language plpgsql stable
set timezone = 'UTC'
as $$
declare
    v_tags constant text[] := array(select jsonb_array_elements_text(coalesce(nullif(filter -> 'tags', 'null'), '[]')));
    v_after constant timestamptz := coalesce((filter ->> 'failed_after')::timestamptz, '-infinity');
    v_before constant timestamptz := coalesce((filter ->> 'failed_before')::timestamptz, 'infinity');
    v_spans pgbaton.span[];
begin
    v_spans := array(
        select s::pgbaton.span from only pgbaton.span as s
        where s.state = 'failed' and not s.ready and s.run_at is null and s.queue_id = _dead_jobs.queue_id
            and s.changed_at > v_after and s.changed_at < v_before
            and (filter ->> 'singleton_key' is null or s.singleton_key = filter ->> 'singleton_key')
    );
    return array(
        select d.id from pgbaton._dead_letters(v_spans) as d
        where (filter ->> 'job_type' is null or d.job_type = filter ->> 'job_type')
            and d.tags @> v_tags
            and (filter ->> 'error' is null or position(filter ->> 'error' in coalesce(d.error_message, '')) > 0)
            and (filter -> 'payload' is null or d.payload @> (filter -> 'payload'))
        order by d.id
    );
end;
$$;
comment on function pgbaton._dead_jobs(integer, jsonb) is
'The failed jobs of a queue that fit the filter of retry_jobs, in order.';
