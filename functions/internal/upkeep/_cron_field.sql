create or replace function pgbaton._cron_field(
    field text, lowest integer, highest integer, names text[] default '{}'
)
returns integer[]
language plpgsql immutable parallel safe
as $$
declare
    v_part text;
    v_match text[];
    v_first integer;
    v_last integer;
    v_values integer[] := '{}';
begin
    foreach v_part in array string_to_array(field, ',') loop
        v_match := regexp_match(upper(v_part), '^([*]|[0-9A-Z]+)(?:-([0-9A-Z]+))?(?:/([0-9]+))?$');
        v_first := pgbaton._cron_value(case when v_match[1] = '*' then lowest::text else v_match[1] end, lowest, names);
        v_last := case
            when v_match[2] is not null then pgbaton._cron_value(v_match[2], lowest, names)
            when v_match[1] = '*' or v_match[3] is not null then highest
            else v_first
        end;
        if v_match is null or (v_match[1] = '*' and v_match[2] is not null) or length(v_match[3]) > 3
            or v_match[3]::integer = 0 or v_first is null or v_last is null or v_first < lowest or v_last > highest
            or v_first > v_last
        then
            raise exception using
                errcode = 'invalid_parameter_value',
                message = format('cron field "%s" is not valid', field),
                hint = format(
                    'Use numbers from %s to %s, *, lists (1,2), ranges (1-5) and steps (*/5 or 10-20/2).',
                    lowest, highest
                );
        end if;
        v_values := v_values || array(select generate_series(v_first, v_last, coalesce(v_match[3]::integer, 1)));
    end loop;
    return array(select distinct u.value from unnest(v_values) as u (value) order by u.value);
end;
$$;
comment on function pgbaton._cron_field(text, integer, integer, text[]) is
'The numbers that a field of a cron expression stands for. names stand for lowest, lowest + 1, … Raises 22023.';
