create or replace function pgbaton._lock_day(suffix text)
returns boolean
language plpgsql volatile
as $$
declare
    v_table text;
begin
    foreach v_table in array array['job', 'job_history', 'job_report', 'job_error'] loop
        if to_regclass(format('pgbaton.%I', v_table || '_' || suffix)) is not null then
            execute format('lock table pgbaton.%I in access exclusive mode nowait', v_table || '_' || suffix);
        end if;
    end loop;
    return true;
exception
    when lock_not_available then return false;  -- somebody reads this day: other days do not wait for it
end;
$$;
comment on function pgbaton._lock_day(text) is
'Locks the partitions of a day, unless somebody uses one of them. Never waits.';
