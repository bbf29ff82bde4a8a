create or replace function pgbaton._drop_days(at timestamptz, days date[])
returns integer
language plpgsql volatile
set lock_timeout = '50ms'
as $$
declare
    v_day date;
    v_count integer := 0;
begin
    foreach v_day in array days loop
        if pgbaton._drop_day(v_day, at) then
            v_count := v_count + 1;
        end if;
    end loop;
    return v_count;
end;
$$;
comment on function pgbaton._drop_days(timestamptz, date[]) is
'Drops those of the days of which nothing needs to be kept, and returns how many. Raises 55P03 when a table that all
days share is in use for longer than 50 ms.';
