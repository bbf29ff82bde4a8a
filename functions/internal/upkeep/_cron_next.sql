create or replace function pgbaton._cron_next(cron text, time_zone text, after timestamptz)
returns timestamptz
language plpgsql immutable parallel safe
as $$
declare
    v_cron record;
    v_clock constant timestamp := after at time zone time_zone;
    v_day date;
    v_hour integer;
    v_is_its_date boolean;
    v_is_its_weekday boolean;
    v_next timestamptz;
begin
    v_cron := pgbaton._cron_parse(cron);
    for v_ahead in -1 .. 12000 loop
        v_day := v_clock::date + v_ahead;
        continue when extract(month from v_day)::integer <> all (v_cron.months);
        v_is_its_date := extract(day from v_day)::integer = any (v_cron.days);
        v_is_its_weekday := extract(dow from v_day)::integer = any (v_cron.weekdays);
        continue when not (v_is_its_date and v_is_its_weekday)
            and not (v_cron.is_either and (v_is_its_date or v_is_its_weekday));
        foreach v_hour in array v_cron.hours loop
            -- No clock runs back by more than two hours.
            continue when v_day + make_time(v_hour, 0, 0) < v_clock - interval '3 hours';
            exit when v_day + make_time(v_hour, 0, 0) > v_next at time zone time_zone + interval '2 hours';
            select least(v_next, min(i.instant)) into v_next
            from unnest(v_cron.minutes) as m (minute)
            cross join lateral pgbaton._instants(
                v_day + make_time(v_hour, m.minute, 0), time_zone, v_cron.is_fixed
            ) as i (instant)
            where i.instant > after;
        end loop;
        exit when v_next is not null;
    end loop;
    return v_next;
end;
$$;
comment on function pgbaton._cron_next(text, text, timestamptz) is
'The first time after an instant that a cron expression stands for in a time zone, null if there is none in 32
years. When the clocks
change: a fixed time that is left out runs right after the gap, one that comes twice runs the first time; with
* as minute or hour every minute that the clock shows counts (as Debian''s cron does). Raises 22004 or 22023.';
