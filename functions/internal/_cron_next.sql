create or replace function pgbaton._cron_next(cron text, time_zone text, after timestamptz)
returns timestamptz
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_cron record;
    v_day date;
    v_next timestamptz;
begin
    v_cron := pgbaton._cron_parse(cron);
    for v_day in
        select d.day::date
        from generate_series(
            (after at time zone time_zone)::date - 1, (after at time zone time_zone)::date + 12000, interval '1 day'
        ) as d (day)
        where extract(month from d.day)::integer = any (v_cron.months) and case
            when v_cron.is_either then extract(day from d.day)::integer = any (v_cron.days)
                or extract(dow from d.day)::integer = any (v_cron.weekdays)
            else extract(day from d.day)::integer = any (v_cron.days)
                and extract(dow from d.day)::integer = any (v_cron.weekdays)
        end
    loop
        select min(i.instant) into v_next
        from unnest(v_cron.hours) as h (hour)
        cross join unnest(v_cron.minutes) as m (minute)
        cross join lateral pgbaton._instants(
            v_day + make_time(h.hour, m.minute, 0), time_zone, v_cron.is_fixed
        ) as i (instant)
        where i.instant > after;
        exit when v_next is not null;
    end loop;
    return v_next;
end;
$$;
comment on function pgbaton._cron_next(text, text, timestamptz) is
'The first time after an instant that a cron expression stands for in a time zone, null if there is none in 32
years. When the clocks
change: a fixed time that is left out runs right after the gap, one that comes twice runs the first time; with
* as minute or hour every
minute that the clock shows counts (as Debian''s cron does). Raises 22004 or 22023.';
