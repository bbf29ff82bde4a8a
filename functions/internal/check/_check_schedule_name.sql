create or replace function pgbaton._check_schedule_name(name text)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if name is null or name = '' or octet_length(name) > 255 then
        raise exception using
            errcode = case when name is null then 'null_value_not_allowed' else 'invalid_parameter_value' end,
            message = 'the name of a schedule is null, empty or longer than 255 bytes',
            hint = 'Give it a name, for example nightly-report.';
    end if;
end;
$$;
comment on function pgbaton._check_schedule_name(text) is
'Raises 22004 or 22023 unless it is a name of 1 to 255 bytes.';
