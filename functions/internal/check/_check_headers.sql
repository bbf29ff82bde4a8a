create or replace function pgbaton._check_headers(headers jsonb)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if headers is null then
        return;
    end if;
    if jsonb_typeof(headers) <> 'object' or jsonb_path_exists(headers, 'strict $.* ? (@.type() != "string")') then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'headers is not an object of texts',
            hint = 'Pass for example {"traceparent": "00-..."}; what is not a text belongs into the payload.';
    end if;
    if octet_length(headers::text) > 4096 then
        raise exception using
            errcode = 'PB011',
            message = format('headers of %s bytes are above 4 kB', octet_length(headers::text)),
            hint = 'Put what is large into the payload.';
    end if;
end;
$$;
comment on function pgbaton._check_headers(jsonb) is
'Raises 22023 unless it is null or an object of texts, PB011 above 4 kB.';
