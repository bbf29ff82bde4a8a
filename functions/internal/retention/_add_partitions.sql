create or replace function pgbaton._add_partitions()
returns integer
language plpgsql volatile
set lock_timeout = '50ms'
as $$
declare
    v_today constant date := pgbaton._day(pgbaton._now());
    v_table text;
    v_name text;
    v_has_strays boolean;
    v_count integer := 0;
begin
    -- pg_dump would leave the partitions of an extension behind, and could not restore them on another day.
    if pgbaton._is_extension() then
        return 0;
    end if;
    foreach v_table in array array['job', 'job_history', 'job_report', 'job_error'] loop
        for v_ahead in 0 .. 3 loop
            v_name := format('%s_%s', v_table, to_char(v_today + v_ahead, 'YYYYMMDD'));
            continue when to_regclass(format('pgbaton.%I', v_name)) is not null;
            -- A day that already has rows in the default partition stays there.
            execute format('select exists (select from pgbaton.%I where day = $1)', v_table || '_default')
            into v_has_strays using v_today + v_ahead;
            continue when v_has_strays;
            perform pgbaton._add_day(v_table, v_today + v_ahead);
            v_count := v_count + 1;
        end loop;
    end loop;
    return v_count;
end;
$$;
comment on function pgbaton._add_partitions() is
'Makes the partitions of today and the next three days where they are missing, and returns how many it made.
As an extension pgbaton has none: all days are in the default ones. Raises 55P03 when a table is in use for
longer than 50 ms; everybody else waits behind it that long.';
