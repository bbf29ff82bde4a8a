create or replace function pgbaton._fold_counted_days()
returns void
language plpgsql volatile
as $$
begin
    delete from pgbaton.counted_day as d
    where d.day > '-infinity' and not exists (select from pgbaton._day_changes() as n where n.day = d.day);
    insert into pgbaton.job_count as c (queue_id, day, name, class, jobs, seconds)
    select g.queue_id, '-infinity', g.name, g.class, sum(g.jobs), sum(g.seconds)
    from pgbaton.job_count as g
    where g.day > '-infinity' and not exists (select from pgbaton.counted_day as d where d.day = g.day)
    group by g.queue_id, g.name, g.class
    on conflict on constraint job_count_pkey do update
    set jobs = c.jobs + excluded.jobs, seconds = c.seconds + excluded.seconds;
    -- A queue may be dropped while it is counted.
    delete from pgbaton.job_count as g where not exists (select from pgbaton.queue as q where q.id = g.queue_id);
    delete from pgbaton.job_count as g
    where g.day > '-infinity' and not exists (select from pgbaton.counted_day as d where d.day = g.day);
end;
$$;
comment on function pgbaton._fold_counted_days() is
'Adds what was counted for days that are gone to one row each.';
