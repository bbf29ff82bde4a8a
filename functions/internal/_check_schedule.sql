create or replace function pgbaton._check_schedule(backoff_schedule interval[])
returns void
language plpgsql immutable parallel safe
as $$
declare
    v_wait interval;
begin
    if backoff_schedule is null then
        return;
    end if;
    perform pgbaton._check_flat('backoff_schedule', array_ndims(backoff_schedule));
    if cardinality(backoff_schedule) = 0 or array_position(backoff_schedule, null) is not null then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'backoff_schedule is empty or holds a null',
            hint = 'Pass the wait before each retry, or null for none.';
    end if;
    if cardinality(backoff_schedule) > 20000 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('backoff_schedule has %s entries', cardinality(backoff_schedule)),
            hint = 'Pass at most 20000 waits.';
    end if;
    foreach v_wait in array backoff_schedule loop
        perform pgbaton._check_duration('backoff_schedule entry', v_wait);
    end loop;
end;
$$;
comment on function pgbaton._check_schedule(interval[]) is
'Raises 22023 or 2202E unless the schedule is null or a list of at most 20,000 intervals in range.';
