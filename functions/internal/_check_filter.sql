create or replace function pgbaton._check_filter(filter jsonb)
returns void
language plpgsql stable
set timezone = 'UTC'
as $$
declare
    v_unknown text;
    v_wrong text;
begin
    if filter is null or jsonb_typeof(filter) <> 'object' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'filter is not an object',
            hint = 'Pass {} for all failed jobs.';
    end if;
    select k.key into v_unknown from jsonb_object_keys(filter) as k (key)
    where k.key <> all (array[
        'job_type', 'tags', 'singleton_key', 'error', 'failed_after', 'failed_before', 'payload', 'extra_attempts'
    ])
    limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('filter has the unknown key "%s"', v_unknown),
            hint = 'The keys are job_type, tags, singleton_key, error, failed_after, failed_before, payload and '
                'extra_attempts.';
    end if;
    select e.key into v_wrong
    from jsonb_each(filter) as e (key, value)
    where e.key <> 'payload' and jsonb_typeof(e.value) <> 'null' and case
        when e.key = 'tags' then jsonb_typeof(e.value) <> 'array'
            or jsonb_path_exists(e.value, '$[*] ? (@.type() <> "string")')
        when e.key = 'extra_attempts' then e.value::text !~ '^[0-9]{1,7}$'
        else jsonb_typeof(e.value) <> 'string'
    end
    limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('filter has %s as %s', filter -> v_wrong, v_wrong),
            hint = 'tags is a list of texts, extra_attempts a number from 0 on, payload anything; the rest are texts.';
    end if;
    perform (filter ->> 'failed_after')::timestamptz, (filter ->> 'failed_before')::timestamptz;
end;
$$;
comment on function pgbaton._check_filter(jsonb) is
'Raises 22023 unless it is an object with the keys that retry_jobs knows, of their types, 22007 for what is no
instant.';
