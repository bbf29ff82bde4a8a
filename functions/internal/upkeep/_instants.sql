create or replace function pgbaton._instants(clock timestamp, time_zone text, is_fixed boolean)
returns setof timestamptz
language plpgsql immutable parallel safe
as $$
declare
    v_instant timestamptz := clock at time zone time_zone;
    v_clock timestamp := clock;
    v_earlier timestamptz;
begin
    if v_instant at time zone time_zone = clock then
        -- Of a time that comes twice PostgreSQL takes the second.
        select min(v_instant - e.shift) into v_earlier
        from unnest(array['30 minutes', '1 hour', '2 hours']::interval[]) as e (shift)
        where (v_instant - e.shift) at time zone time_zone = clock;
        if v_earlier is null or not is_fixed then
            return next v_instant;
        end if;
        if v_earlier is not null then
            return next v_earlier;
        end if;
    elsif is_fixed then
        while v_instant at time zone time_zone <> v_clock loop
            v_clock := v_clock + interval '1 minute';
            v_instant := v_clock at time zone time_zone;
        end loop;
        return next v_instant;
    end if;
end;
$$;
comment on function pgbaton._instants(timestamp, text, boolean) is
'When a clock in the zone shows this time: once as a rule, twice or never when the clocks change. For a fixed
time always once: the first one, or right after the gap.';
