create or replace function pgbaton._check_payload(payload jsonb)
returns void
language plpgsql immutable parallel safe
as $$
declare
    -- In an array a value that was stored compressed has its full size.
    v_size constant integer := pg_column_size(array[payload]);
begin
    if payload is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'payload is null',
            hint = 'Pass a JSON value; leave it out for {}.';
    end if;
    if v_size > 16777216 then
        raise exception using
            errcode = 'PB011',
            message = format('payload of %s bytes is above 16 MB', v_size),
            hint = 'Store the data elsewhere and enqueue a reference to it.';
    end if;
end;
$$;
comment on function pgbaton._check_payload(jsonb) is
'Raises 22004 for null, PB011 above 16 MB.';
