create or replace function pgbaton._check_schedule(backoff_schedule interval[])
returns void
language plpgsql immutable parallel safe
as $$
declare
    v_place integer := 0;
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
        v_place := v_place + 1;
        if v_wait < '0' or v_wait > '100 years' then
            raise exception using
                errcode = 'invalid_parameter_value',
                message = format('entry %s of backoff_schedule, %s, is out of range', v_place, v_wait),
                hint = 'Pass intervals from 0 to 100 years.';
        end if;
    end loop;
end;
$$;
comment on function pgbaton._check_schedule(interval[]) is
'Raises 22023 or 2202E unless the schedule is null or a list of at most 20,000 intervals in range.';
