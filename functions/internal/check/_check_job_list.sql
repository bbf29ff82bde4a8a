create or replace function pgbaton._check_job_list(jobs jsonb)
returns void
language plpgsql immutable parallel safe
as $$
declare
    v_unknown record;
    v_other bigint;  -- place of what is no object
begin
    if jsonb_typeof(jobs) = 'array' then
        select e.ordinal into v_other
        from jsonb_array_elements(jobs) with ordinality as e (job, ordinal)
        where jsonb_typeof(e.job) <> 'object'
        limit 1;
    end if;
    if jobs is null or jsonb_typeof(jobs) <> 'array' or v_other is not null then
        raise exception using
            errcode = case when jobs is null then 'null_value_not_allowed' else 'invalid_parameter_value' end,
            message = 'jobs is not an array of objects' || coalesce(': job ' || v_other || ' is none', ''),
            hint = 'Pass for example [{"payload": {"order": 1}, "singleton_key": "a"}].';
    end if;
    select k.key, e.ordinal into v_unknown
    from jsonb_array_elements(jobs) with ordinality as e (job, ordinal)
    cross join lateral jsonb_object_keys(e.job) as k (key)
    where k.key <> all (array[
        'payload', 'priority', 'singleton_key', 'job_type', 'tags', 'run_at', 'delay', 'max_attempts', 'retry_delay',
        'retry_backoff', 'backoff_schedule', 'keys_if_undelivered', 'dedup_id', 'on_duplicate',
        'headers', 'after', 'after_ordinals', 'on_failed', 'debounce', 'max_wait'
    ])
    limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('job %s has the unknown key "%s"', v_unknown.ordinal, v_unknown.key),
            hint = 'The keys are the parameters of pgbaton.enqueue_job() but queue, and after_ordinals.';
    end if;
    perform pgbaton._check_job_fields(jobs);
end;
$$;
comment on function pgbaton._check_job_list(jsonb) is
'Raises 22004 or 22023 unless it is an array of objects with the keys of enqueue_job and values of their types.';
