create or replace function pgbaton._check_filter(filter jsonb)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_unknown text;
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
end;
$$;
comment on function pgbaton._check_filter(jsonb) is
'Raises 22023 unless it is an object with the keys that retry_jobs knows.';
