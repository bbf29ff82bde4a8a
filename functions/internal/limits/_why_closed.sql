create or replace function pgbaton._why_closed(job_id bigint, queue pgbaton.queue)
returns text
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_next_start constant timestamptz := pgbaton._next_start(queue.id, v_now);
    v_limit record;
begin
    select r.size as max_running, s.size as rate_count, s.refill as rate_interval into v_limit
    from (select) as n
    left join pgbaton.queue_limit as r on r.queue_id = queue.id and r.kind = 'running'
    left join pgbaton.queue_limit as s on s.queue_id = queue.id and s.kind = 'rate';
    return case
        when v_next_start is not null then format(
            'Job %s is claimable, but the rate of queue "%s", %s in %s, lets none start before %s.',
            job_id, queue.name, v_limit.rate_count, v_limit.rate_interval, v_next_start
        )
        else format(
            'Job %s is claimable, but as many jobs of queue "%s" run as its limit allows, %s: '
            'it starts when one of them ends%s.', job_id, queue.name, v_limit.max_running,
            (
                select format('; job %s of worker %s runs longest', s.lo, s.worker_id) from pgbaton.held_span as s
                where s.queue_id = queue.id
                order by s.claimed_at, s.lo
                limit 1
            )
        )
    end || format(' pgbaton.set_queue_limits(%L, …) changes that.', queue.name);
end;
$$;
comment on function pgbaton._why_closed(bigint, pgbaton.queue) is
'Says which limit of its queue keeps a claimable job from starting, and until when or for which job if that is known.';
