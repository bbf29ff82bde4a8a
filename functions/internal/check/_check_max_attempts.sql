create or replace function pgbaton._check_max_attempts(max_attempts integer, null_means text)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if max_attempts not between 1 and 1000000000 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('max_attempts is %s', max_attempts),
            hint = format('Pass 1 to 1000000000, or null for %s.', null_means);
    end if;
end;
$$;
comment on function pgbaton._check_max_attempts(integer, text) is
'Raises 22023 unless it is null or a number to which a claim can add what operators granted, which is no more either.';
