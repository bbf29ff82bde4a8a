create or replace function pgbaton._check_key_paths(keys_if_undelivered jsonb)
returns void
language plpgsql immutable parallel safe
as $$
declare
    v_valid boolean;
begin
    if keys_if_undelivered is null then
        return;
    end if;
    if jsonb_typeof(keys_if_undelivered) = 'array' and jsonb_array_length(keys_if_undelivered) <= 100 then
        select bool_and(case jsonb_typeof(p.path)
            when 'array' then jsonb_array_length(p.path) > 0
                and not exists (
                    select from jsonb_array_elements(p.path) as e (part)
                    where jsonb_typeof(e.part) <> 'string'
                )
                and octet_length(p.path::text) <= 1024
            else false
        end) into v_valid
        from jsonb_array_elements(keys_if_undelivered) as p (path);
    end if;
    if v_valid is not true then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'keys_if_undelivered is not a list of key paths',
            hint = 'Pass a list of at most 100 lists of text, at most 1024 bytes each: [["failed-payments", "ord-123"]].';
    end if;
end;
$$;
comment on function pgbaton._check_key_paths(jsonb) is
'Raises 22023 unless it is null or a list of 1 to 100 non-empty lists of text.';
