create or replace function pgbaton._check_duration(
    name text, duration interval, may_be_zero boolean default true
)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if duration < '0' or (duration = '0' and not may_be_zero) or duration > '100 years' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s of %s is out of range', name, duration),
            hint = case
                when may_be_zero then 'Pass an interval from 0 to 100 years.'
                else 'Pass an interval above 0, at most 100 years.'
            end;
    end if;
end;
$$;
comment on function pgbaton._check_duration(text, interval, boolean) is
'Raises 22023 unless the interval is null or in range.';
