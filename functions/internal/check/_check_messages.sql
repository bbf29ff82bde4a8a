create or replace function pgbaton._check_messages(error_messages text[])
returns void
language plpgsql immutable parallel safe
as $$
begin
    if array_ndims(error_messages) > 1 then
        perform pgbaton._check_flat('error_messages', array_ndims(error_messages));
    end if;
    if error_messages is null or array_position(error_messages, null) is not null
        or array_position(error_messages, '') is not null
    then
        raise exception using
            errcode = case
                when array_position(error_messages, '') is null then 'null_value_not_allowed'
                else 'invalid_parameter_value'
            end,
            message = case
                when cardinality(error_messages) > 1 then format('error message %s is null or empty', coalesce(
                    array_position(error_messages[:], ''), array_position(error_messages[:], null)
                ))
                else 'an error message is null or empty'
            end,
            hint = 'Say what went wrong: the operator reads it at night.';
    end if;
end;
$$;
comment on function pgbaton._check_messages(text[]) is 'Raises 22023 for an empty message, 2202E for
several dimensions, else 22004 for a null.';
