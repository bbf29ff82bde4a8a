create or replace function pgbaton._check_dedup_id(dedup_id text)
returns void
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    if dedup_id = '' or octet_length(dedup_id) > 1024 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'dedup_id is empty or longer than 1024 bytes',
            hint = 'Pass null for none, or a shorter id such as a digest.';
    end if;
end;
$$;
comment on function pgbaton._check_dedup_id(text) is
'Raises 22023 for an empty id or one above 1024 bytes.';
