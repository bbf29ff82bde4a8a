create or replace function pgbaton._old_runs(at timestamptz)
returns text[]
language plpgsql volatile
as $$
begin
    return array(
        -- What is noted of a run grows with its jobs.
        select format('%s %s', n.queue_ids, n.run_id)
        from (
            select
                o.run_id, o.queue_ids,
                sum(l.jobs) over (order by o.run_id, o.ctid) - l.jobs as jobs_before
            from (
                select a.ctid, a.run_id, a.queue_ids from pgbaton.enqueue_run as a
                where a.begun_at < at - interval '30 days' and not exists (
                    select from pgbaton.enqueue_ledger as l
                    where l.run_id = a.run_id and l.queue_ids = a.queue_ids
                        and l.noted_at >= at - interval '30 days'
                )
                limit 1000
                for update skip locked
            ) as o
            cross join lateral (
                select coalesce(sum(m.jobs), 0) as jobs from pgbaton.enqueue_ledger as m
                where m.run_id = o.run_id and m.queue_ids = o.queue_ids
                offset 0
            ) as l
        ) as n
        where n.jobs_before < 10000000
    );
end;
$$;
comment on function pgbaton._old_runs(timestamptz) is
'Runs of Spark that ended more than 30 days ago, or were begun then and nothing came: for which queues, a space, and
their id, since producers that are narrowed to other queues may have runs of the same name.';
