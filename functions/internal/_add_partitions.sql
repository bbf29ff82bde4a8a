create or replace function pgbaton._add_partitions()
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '200ms'
as $$
declare
    v_today constant date := pgbaton._day(pgbaton._now());
    -- The caller's DateStyle may print a date that it does not read back.
    v_iso constant text := 'YYYY-MM-DD';
    v_table text;
    v_name text;
    v_has_strays boolean;
    v_count integer := 0;
begin
    foreach v_table in array array['job', 'job_history', 'job_report', 'job_error'] loop
        for v_ahead in 0 .. 3 loop
            v_name := format('%s_%s', v_table, to_char(v_today + v_ahead, 'YYYYMMDD'));
            continue when to_regclass(format('pgbaton.%I', v_name)) is not null;
            -- A day that already has rows in the default partition stays there.
            execute format('select exists (select from pgbaton.%I where day = $1)', v_table || '_default')
            into v_has_strays using v_today + v_ahead;
            continue when v_has_strays;
            execute format(
                'create table pgbaton.%I partition of pgbaton.%I for values from (%L) to (%L)',
                v_name, v_table, to_char(v_today + v_ahead, v_iso), to_char(v_today + v_ahead + 1, v_iso)
            );
            execute format(
                'comment on table pgbaton.%I is %L', v_name,
                format('Day %s of %s.', to_char(v_today + v_ahead, v_iso), v_table)
            );
            v_count := v_count + 1;
        end loop;
    end loop;
    return v_count;
end;
$$;
comment on function pgbaton._add_partitions() is
'Makes the partitions of today and the next three days where they are missing, and returns how many it made.
Raises 55P03 when a table is in use for longer than 200 ms; everybody else waits behind it that long.';
