create or replace function pgbaton._check_flat(name text, dimensions integer)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if dimensions > 1 then
        raise exception using
            errcode = 'array_subscript_error',
            message = format('%s has %s dimensions', name, dimensions),
            hint = 'Pass a plain list.';
    end if;
end;
$$;
comment on function pgbaton._check_flat(text, integer) is
'Raises 2202E for an array of several dimensions.';
