create or replace function pgbaton._check_after(after bigint[], on_failed text, ordinals integer[] default null)
returns bigint[]
language plpgsql immutable parallel safe
as $$
begin
    if array_ndims(after) > 1 or array_position(after, null) is not null
        or array_position(ordinals, null) is not null then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'after holds a null or is no plain list',
            hint = 'Pass the ids of the jobs that it waits for, ''{}'' for none.';
    end if;
    if on_failed is null or on_failed not in ('wait', 'cancel', 'run') then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('on_failed is %s', coalesce(quote_literal(on_failed), 'null')),
            hint = 'Pass ''wait'' (the default), ''cancel'' or ''run''.';
    end if;
    if on_failed <> 'wait' and coalesce(cardinality(after), 0) + coalesce(cardinality(ordinals), 0) = 0 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'on_failed is given without after',
            hint = 'It says what becomes of a job when one of those that it waits for does not complete.';
    end if;
    if coalesce(cardinality(after), 0) + coalesce(cardinality(ordinals), 0) > 100000 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('after names %s jobs', cardinality(after) + coalesce(cardinality(ordinals), 0)),
            hint = 'A job may wait for 100,000: let some of them wait for parts of it, and the job for these.';
    end if;
    return array(select distinct a.id from unnest(after) as a (id) order by a.id);
end;
$$;
comment on function pgbaton._check_after(bigint[], text, integer[]) is
'The jobs that a job waits for, each once. Raises 22023.';
