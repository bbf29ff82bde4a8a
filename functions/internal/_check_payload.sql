create or replace function pgbaton._check_payload(payload jsonb)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if payload is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'payload is null',
            hint = 'Pass a JSON value; leave it out for {}.';
    end if;
    if not pgbaton._fits(payload) then
        raise exception using
            errcode = 'PB011',
            message = case
                when pg_column_size(array[payload]) > 16777216
                    then format('payload of %s bytes is above 16 MB', pg_column_size(array[payload]))
                else 'payload is nested deeper than 500 levels'
            end,
            hint = 'Store the data elsewhere and enqueue a reference to it.';
    end if;
end;
$$;
comment on function pgbaton._check_payload(jsonb) is
'Raises 22004 for null, PB011 above 16 MB or 500 levels of nesting, which many clients could not read any more.';
