create or replace function pgbaton._check_same_length(name text, length integer, other text, other_length integer)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if length <> other_length then
        raise exception using
            errcode = 'array_subscript_error',
            message = format('%s has %s entries and %s has %s', name, length, other, other_length),
            hint = 'Pass arrays of the same length.';
    end if;
end;
$$;
comment on function pgbaton._check_same_length(text, integer, text, integer) is
'Raises 2202E unless the lengths are equal or one is null.';
