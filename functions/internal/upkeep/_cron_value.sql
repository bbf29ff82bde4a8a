create or replace function pgbaton._cron_value(value text, lowest integer, names text[])
returns integer
language plpgsql immutable parallel safe
as $$
begin
    if value ~ '^[0-9]{1,4}$' then
        return value::integer;
    end if;
    return array_position(names, value) - 1 + lowest;
end;
$$;
comment on function pgbaton._cron_value(text, integer, text[]) is
'A number of a cron field, given as digits or as a name; null if it is neither.';
