create or replace function pgbaton._cron_parse(
    cron text, out minutes integer[], out hours integer[], out days integer[],
    out months integer[], out weekdays integer[], out is_either boolean, out is_fixed boolean
)
language plpgsql immutable parallel safe
as $$
declare
    v_fields constant text[] := regexp_split_to_array(btrim(cron, E' \t'), E'[ \t]+');
begin
    if cron is null or cardinality(v_fields) <> 5 then
        raise exception using
            errcode = case when cron is null then 'null_value_not_allowed' else 'invalid_parameter_value' end,
            message = format('cron expression %s has not five fields', coalesce(quote_literal(cron), 'null')),
            hint = 'The fields are minute, hour, day of month, month and weekday, for example 0 9 * * MON-FRI.';
    end if;
    minutes := pgbaton._cron_field(v_fields[1], 0, 59);
    hours := pgbaton._cron_field(v_fields[2], 0, 23);
    days := pgbaton._cron_field(v_fields[3], 1, 31);
    months := pgbaton._cron_field(
        v_fields[4], 1, 12, array['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
    );
    weekdays := pgbaton._cron_field(v_fields[5], 0, 7, array['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']);
    if 7 = any (weekdays) then
        weekdays := weekdays || 0;  -- Sunday is 0 and 7
    end if;
    -- As cron has it: when day and weekday are both restricted, either one is enough.
    is_either := left(v_fields[3], 1) <> '*' and left(v_fields[5], 1) <> '*';
    is_fixed := left(v_fields[1], 1) <> '*' and left(v_fields[2], 1) <> '*';
end;
$$;
comment on function pgbaton._cron_parse(text) is
'A cron expression as the numbers of its fields. is_either: a day fits by its date or its weekday, else both
must fit.
is_fixed: it names times of day, which take part in a change of the clocks as Debian''s cron has it. Raises
22004 or 22023.';
