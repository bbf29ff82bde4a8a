create or replace function pgbaton._check_after(
    after bigint[], on_failed text, ordinals integer[] default null, row_no bigint default null
)
returns bigint[]
language plpgsql immutable parallel safe
as $$
begin
    if array_ndims(after) > 1 or array_position(after, null) is not null
        or array_position(ordinals, null) is not null then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = concat('after holds a null or is no plain list', ' (row ' || row_no || ')'),
            hint = 'Pass the ids of the jobs that it waits for, ''{}'' for none.';
    end if;
    if on_failed is null or on_failed not in ('wait', 'cancel', 'run') then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = concat('on_failed is ', coalesce(quote_literal(on_failed), 'null'), ' (row ' || row_no || ')'),
            hint = 'Pass ''wait'' (the default), ''cancel'' or ''run''.';
    end if;
    if on_failed <> 'wait' and coalesce(cardinality(after), 0) + coalesce(cardinality(ordinals), 0) = 0 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = concat('on_failed is given without after', ' (row ' || row_no || ')'),
            hint = 'It says what becomes of a job when one of those that it waits for does not complete.';
    end if;
    if coalesce(cardinality(after), 0) + coalesce(cardinality(ordinals), 0) > 100000 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format(
                'after names %s jobs%s', cardinality(after) + coalesce(cardinality(ordinals), 0),
                ' (row ' || row_no || ')'
            ),
            hint = 'A job may wait for 100,000: let some of them wait for parts of it, and the job for these.';
    end if;
    return array(select distinct a.id from unnest(after) as a (id) order by a.id);
end;
$$;
comment on function pgbaton._check_after(bigint[], text, integer[], bigint) is
'The jobs that a job waits for, each once. row_no: of a list, which. Raises 22023.';
