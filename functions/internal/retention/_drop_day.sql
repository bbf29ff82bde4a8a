create or replace function pgbaton._drop_day(day date, at timestamptz)
returns boolean
language plpgsql volatile
set datestyle = 'ISO'
as $$
declare
    v_suffix constant text := to_char(day, 'YYYYMMDD');
    v_kept bigint[] := pgbaton._kept_of_day(day, at);
    v_table text;
    v_id text;
begin
    -- More than a few keep the whole day.
    if cardinality(v_kept) > 10000 then
        return false;
    end if;
    if cardinality(v_kept) > 0 and cardinality(v_kept) * 10 > (
        select count(*) from (select from pgbaton.job as j where j.day = _drop_day.day limit 100001) as c
    ) then
        return false;
    end if;

    -- Nobody writes to the day from here on, and what was committed before is seen by the second look. The parents
    -- come first, as in every statement: whoever has one of them and waits for the day would be waited for.
    lock table only pgbaton.job, only pgbaton.job_history, only pgbaton.job_report, only pgbaton.job_error
    in access exclusive mode;
    if not pgbaton._lock_day(v_suffix) then
        return false;
    end if;
    v_kept := pgbaton._kept_of_day(day, at);
    if cardinality(v_kept) > 10000 then
        return false;
    end if;

    perform pgbaton._carve_history_around(v_kept, day);
    perform pgbaton._drop_edges(day, v_kept);
    update pgbaton.job_error as e set first_xid = pgbaton._xmin_of(e.xmin)
    where e.day = _drop_day.day and e.job_id = any (v_kept) and e.first_xid is null;
    foreach v_table in array array['job', 'job_history', 'job_report', 'job_error'] loop
        v_id := case v_table when 'job' then 'id' when 'job_history' then 'lo' else 'job_id' end;
        -- A day without a partition is in the default one, and is the exception.
        execute format('delete from pgbaton.%I where day = $1 and %I <> all ($2)', v_table || '_default', v_id)
        using day, v_kept;
        continue when to_regclass(format('pgbaton.%I', v_table || '_' || v_suffix)) is null;
        execute format('alter table pgbaton.%I rename to %I', v_table || '_' || v_suffix, v_table || '_old');
        execute format('alter table pgbaton.%I detach partition pgbaton.%I', v_table, v_table || '_old');
        if cardinality(v_kept) > 0 then
            perform pgbaton._add_day(v_table, day);
            execute format(
                'insert into pgbaton.%I select * from pgbaton.%I where %I = any ($1)',
                v_table || '_' || v_suffix, v_table || '_old', v_id
            ) using v_kept;
        end if;
        execute format('drop table pgbaton.%I', v_table || '_old');
    end loop;
    return true;
end;
$$;
comment on function pgbaton._drop_day(date, timestamptz) is
'Drops a day unless much of it is to be kept, and says whether it did. The few jobs that live on, or ended
within the retention of their queue, are copied into a new partition.';
