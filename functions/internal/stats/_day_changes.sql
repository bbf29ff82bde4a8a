create or replace function pgbaton._day_changes()
returns table (day date, changes bigint)
language sql stable
as $$
    select p.day, sum(p.changes)::bigint
    from (
        select
            to_date(substring(c.relname from '[0-9]{8}$'), 'YYYYMMDD') as day,
            pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_updated(c.oid) + pg_stat_get_tuples_deleted(c.oid)
                as changes
        from pg_inherits as i
        inner join pg_class as c on c.oid = i.inhrelid
        where i.inhparent in ('pgbaton.job_history'::regclass, 'pgbaton.job_error'::regclass)
            and c.relname ~ '[0-9]{8}$'
        union all
        -- Days without a partition are few, and the exception.
        select s.day, count(*) from pgbaton.job_history_default as s group by s.day
        union all
        select s.day, count(*) from pgbaton.job_error_default as s group by s.day
    ) as p
    group by p.day
$$;
comment on function pgbaton._day_changes() is
'The days of enqueue that are kept, each with how many rows were ever written for it; as the statistics have it,
so a little late, and anew after a crash.';
