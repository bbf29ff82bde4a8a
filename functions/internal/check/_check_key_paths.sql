create or replace function pgbaton._check_key_paths(keys_if_undelivered jsonb)
returns void
language plpgsql immutable parallel safe
as $$
declare
    v_valid boolean;
    v_other bigint;  -- place of what is no key path
begin
    if keys_if_undelivered is null then
        return;
    end if;
    if jsonb_typeof(keys_if_undelivered) = 'array' and jsonb_array_length(keys_if_undelivered) <= 100 then
        select bool_and(c.is_valid), min(c.place) filter (where not c.is_valid) into v_valid, v_other
        from (
            select p.place, case jsonb_typeof(p.path)
                when 'array' then jsonb_array_length(p.path) > 0
                    and not exists (
                        select from jsonb_array_elements(p.path) as e (part)
                        where jsonb_typeof(e.part) <> 'string'
                    )
                    and octet_length(p.path::text) <= 1024
                else false
            end as is_valid
            from jsonb_array_elements(keys_if_undelivered) with ordinality as p (path, place)
        ) as c;
    end if;
    if v_valid is not true then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'keys_if_undelivered is not a list of key paths'
                || coalesce(': entry ' || v_other || ' is none', ''),
            hint = 'Pass a list of at most 100 lists of text, at most 1024 bytes each: [["failed-payments", '
                '"ord-123"]].';
    end if;
end;
$$;
comment on function pgbaton._check_key_paths(jsonb) is
'Raises 22023 unless it is null or a list of 1 to 100 non-empty lists of text.';
