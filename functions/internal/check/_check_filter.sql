create or replace function pgbaton._check_filter(filter jsonb, names text[])
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
            hint = format(
                'Pass an object with any of the keys %s; {} is without any condition.', array_to_string(names, ', ')
            );
    end if;
    select k.key into v_unknown from jsonb_object_keys(filter) as k (key) where k.key <> all (names) limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('filter has the unknown key "%s"', v_unknown),
            hint = format('The keys are %s.', array_to_string(names, ', '));
    end if;
    select e.key into v_wrong
    from jsonb_each(filter) as e (key, value)
    where e.key <> 'payload' and jsonb_typeof(e.value) <> 'null' and case
        when e.key in ('tags', 'states') then jsonb_typeof(e.value) <> 'array'
            or jsonb_path_exists(e.value, 'strict $[*] ? (@.type() <> "string")')
        when e.key = 'ids' then jsonb_typeof(e.value) <> 'array' or exists (
            select from jsonb_array_elements(e.value) as i (id) where i.id::text !~ '^[0-9]{1,18}$'
        )
        when e.key = 'extra_attempts' then e.value::text !~ '^([0-9]{1,6}|1000000)$'
        else jsonb_typeof(e.value) <> 'string'
    end
    limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('filter has %s as %s', filter -> v_wrong, v_wrong),
            hint = 'tags and states are lists of texts, ids of numbers, extra_attempts is a number from 0 on, payload '
                'anything; the rest are texts.';
    end if;
    select s.state into v_wrong from jsonb_array_elements_text(nullif(filter -> 'states', 'null')) as s (state)
    where s.state <> 'given_up' and s.state <> all (enum_range(null::pgbaton.job_state)::text[])
    limit 1;
    if found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('filter has the unknown state "%s"', v_wrong),
            hint = 'The states are ' || array_to_string(enum_range(null::pgbaton.job_state), ', ') || ' and given_up.';
    end if;
    perform e.value::timestamptz from jsonb_each_text(filter) as e where e.key ~ '_(after|before)$';
end;
$$;
comment on function pgbaton._check_filter(jsonb, text[]) is
'Raises 22023 unless it is an object with some of these keys, of their types, 22007 for what is no instant.';
