create or replace function pgbaton._check_rows(name text, rows integer, most integer)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if (rows between 1 and most) is not true then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is %s', name, coalesce(rows::text, 'null')),
            hint = format('Pass a number from 1 to %s.', most);
    end if;
end;
$$;
comment on function pgbaton._check_rows(text, integer, integer) is
'Raises 22023 unless it is a number of rows from 1 to the most that the call returns.';
