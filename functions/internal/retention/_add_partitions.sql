create or replace function pgbaton._add_partitions(names text[])
returns integer
language plpgsql volatile
set lock_timeout = '50ms'
as $$
declare
    v_name text;
begin
    foreach v_name in array names loop
        perform pgbaton._add_day(regexp_replace(v_name, '_[0-9]+$', ''), to_date(right(v_name, 8), 'YYYYMMDD'));
    end loop;
    return cardinality(names);
end;
$$;
comment on function pgbaton._add_partitions(text[]) is
'Makes partitions that _missing_partitions named, and returns how many. Raises 55P03 when a table is in use for
longer than 50 ms; everybody else waits behind it that long.';
