create or replace function pgbaton._missing_partitions()
returns text[]
language plpgsql volatile
as $$
declare
    v_today constant date := pgbaton._day(pgbaton._now());
    v_table text;
    v_name text;
    v_has_strays boolean;
    v_names text[] := '{}';
begin
    -- pg_dump would leave the partitions of an extension behind, and could not restore them on another day.
    if pgbaton._is_extension() then
        return v_names;
    end if;
    foreach v_table in array array['job', 'job_history', 'job_report', 'job_error'] loop
        for v_ahead in 0 .. 3 loop
            v_name := format('%s_%s', v_table, to_char(v_today + v_ahead, 'YYYYMMDD'));
            continue when to_regclass(format('pgbaton.%I', v_name)) is not null;
            -- A day that already has rows in the default partition stays there.
            execute format('select exists (select from pgbaton.%I where day = $1)', v_table || '_default')
            into v_has_strays using v_today + v_ahead;
            continue when v_has_strays;
            v_names := v_names || v_name;
        end loop;
    end loop;
    return v_names;
end;
$$;
comment on function pgbaton._missing_partitions() is
'The partitions of today and the next three days that are missing. As an extension pgbaton has none: all days are in the
default ones.';
