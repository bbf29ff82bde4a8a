create or replace function pgbaton._count_enqueued()
returns void
language plpgsql volatile
as $$
begin
    insert into pgbaton.job_count as c (queue_id, day, name, class, jobs, seconds)
    select k.queue_id, '-infinity', 'enqueued', 0, sum(k.jobs), 0
    from pgbaton.queue as q  -- not one that was dropped
    inner join (
        select s.queue_id, s.hi - s.lo + 1 as jobs from pgbaton.span as s
        union all
        select e.queue_id, e.jobs from pgbaton.job_count as e
        where e.name not in ('failed_attempt', 'blocked', 'waited', 'enqueued')
    ) as k on k.queue_id = q.id
    group by k.queue_id
    on conflict on constraint job_count_pkey do update
    set jobs = excluded.jobs where c.jobs < excluded.jobs;
end;
$$;
comment on function pgbaton._count_enqueued() is
'Counts the jobs that were ever enqueued: those that ended and those that live. Never fewer than before.';
