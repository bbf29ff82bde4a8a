create or replace function pgbaton._check_job_fields(jobs jsonb)
returns void
language plpgsql immutable parallel safe
as $$
declare
    v_wrong record;
begin
    select f.key, f.value, e.ordinal into v_wrong
    from jsonb_array_elements(jobs) with ordinality as e (job, ordinal)
    cross join lateral jsonb_object_keys(e.job) as k (key)
    cross join lateral (select k.key, e.job -> k.key as value offset 0) as f
    where jsonb_typeof(f.value) <> 'null' and case
        when f.key in ('payload', 'headers', 'keys_if_undelivered') then false
        when f.key in ('priority', 'max_attempts') then jsonb_typeof(f.value) <> 'number'
        when f.key = 'retry_backoff' then jsonb_typeof(f.value) <> 'boolean'
        when f.key in ('tags', 'backoff_schedule') then jsonb_typeof(f.value) <> 'array'
            or jsonb_path_exists(f.value, 'strict $[*] ? (@.type() != "string" && @.type() != "null")')
        when f.key in ('after', 'after_ordinals') then jsonb_typeof(f.value) <> 'array'
            -- Who has no integers of 64 bits has ids as texts.
            or jsonb_path_exists(
                f.value, 'strict $[*] ? (@.type() == "boolean" || @.type() == "array" || @.type() == "object")'
            )
        else jsonb_typeof(f.value) <> 'string'
    end
    order by e.ordinal
    limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('job %s has %s as %s', v_wrong.ordinal, left(v_wrong.value::text, 60), v_wrong.key),
            hint = 'Pass ' || case
                when v_wrong.key in ('priority', 'max_attempts') then 'a whole number, without quotes.'
                when v_wrong.key = 'retry_backoff' then 'true or false.'
                when v_wrong.key = 'tags' then 'a list of texts, such as ["a", "b"].'
                when v_wrong.key = 'backoff_schedule' then 'a list of durations, such as ["1 second", "1 minute"].'
                when v_wrong.key in ('after', 'after_ordinals') then 'a list of numbers, such as [17, 18].'
                when v_wrong.key = 'run_at' then 'an instant as text, such as "2030-01-01T00:00:00Z".'
                when v_wrong.key in ('delay', 'retry_delay', 'debounce', 'max_wait')
                    then 'a duration as text, such as "90 seconds".'
                else 'a text, in quotes.'
            end;
    end if;
end;
$$;
comment on function pgbaton._check_job_fields(jsonb) is
'Raises 22023 unless what the jobs of a list have as key, priority and so on is of the type that it has in JSON: nothing
is made a text or number of. Whether it is one that can be, such as an instant, is seen by who reads it.';
