create or replace function pgbaton._check_payload(payload jsonb)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    if payload is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'payload is null',
            hint = 'Pass a JSON value; leave it out for {}.';
    end if;
    if pg_column_size(payload) > 16777216 then
        raise exception using
            errcode = 'PB011',
            message = format('payload of %s bytes is above 16 MB', pg_column_size(payload)),
            hint = 'Store the data elsewhere and enqueue a reference to it.';
    end if;
end;
$$;
comment on function pgbaton._check_payload(jsonb) is
'Raises 22004 for null, PB011 above 16 MB.';
