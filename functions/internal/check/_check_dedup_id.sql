create or replace function pgbaton._check_dedup_id(dedup_id text, on_duplicate text, row_no bigint default null)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if dedup_id = '' or octet_length(dedup_id) > 1024 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('dedup_id%s is empty or longer than 1024 bytes', ' ' || row_no),
            hint = 'Pass null for none, or a shorter id such as a digest.';
    end if;
    if on_duplicate is null or on_duplicate not in ('error', 'skip', 'replace') then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('on_duplicate%s is %s', ' ' || row_no, coalesce(quote_literal(on_duplicate), 'null')),
            hint = 'Pass ''error'', ''skip'' or ''replace''.';
    end if;
end;
$$;
comment on function pgbaton._check_dedup_id(text, text, bigint) is
'Raises 22023 for an empty id, one above 1024 bytes or an on_duplicate other than error, skip and replace.
row_no: of a list, which.';
