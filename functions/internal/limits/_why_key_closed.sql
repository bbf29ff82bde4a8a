create or replace function pgbaton._why_key_closed(job pgbaton.job_info, queue pgbaton.queue)
returns text
language plpgsql volatile
as $$
declare
    v_limit record;
begin
    select l.size, l.refill, t.opens_at into v_limit
    from pgbaton.queue_limit as l
    cross join lateral (
        select pgbaton._opens_at(queue.id, job.singleton_key, l.size, l.refill, pgbaton._now()) as opens_at
    ) as t
    where l.queue_id = queue.id and l.kind in ('key_rate', 'key_burst')
    order by t.opens_at desc nulls last
    limit 1;
    if v_limit.opens_at is null or job.run_at > v_limit.opens_at then
        return null;
    end if;
    return format(
        'Job %s starts not before %s: of its key "%s", as of each one of queue "%s", %s may start in %s. '
        'pgbaton.set_queue_limits(%L, …) changes that.',
        job.id, v_limit.opens_at, job.singleton_key, queue.name, v_limit.size, v_limit.refill, queue.name
    );
end;
$$;
comment on function pgbaton._why_key_closed(pgbaton.job_info, pgbaton.queue) is
'Says until when the rate of its key keeps a job from starting that holds this key; null if it does not, or if the job
waits longer for its own time.';
