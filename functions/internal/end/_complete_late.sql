create or replace function pgbaton._complete_late(job_ids bigint[], lease_token bigint)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_spans pgbaton.span[];
    v_allowed constant integer[] := case
        when pgbaton._has_grants() then pgbaton._allowed_queues('work')
    end;
begin
    with late as materialized (
        select h.lo, h.day from pgbaton.job_history as h
        where h.lo = any (job_ids) and h.state = 'unknown_stopped'
            and (v_allowed is null or h.queue_id = any (v_allowed))
            and (h.lease_token = _complete_late.lease_token or (
                _complete_late.lease_token is null
                and not exists (select from pgbaton.queue as q where q.id = h.queue_id and q.policy = 'fifo')
            ))
        order by h.lo
        for update
    ), completed as (
        update pgbaton.job_history as h
        set state = 'completed', finished_at = pgbaton._now(), lease_token = null, first_xid = null
        from late as l
        where h.lo = l.lo and h.day = l.day and h.state = 'unknown_stopped'
        returning h.lo, h.day, h.queue_id, h.lane_id, h.attempt, h.extra_attempts, h.worker_id
    )
    select coalesce(array_agg(
        row(
            c.lo, c.lo, 0, null, null, null, null, null, null, null, c.day, c.queue_id, c.lane_id, 'active', c.attempt,
            c.extra_attempts, null, false, null, null, c.worker_id, null
        )::pgbaton.span
    ), '{}') into v_spans
    from completed as c;
    if pg_sequence_last_value('pgbaton.edge_seq') is not null then
        perform pgbaton._tell_children(v_spans, true);
    end if;
    return v_spans;
end;
$$;
comment on function pgbaton._complete_late(bigint[], bigint) is
'Completes jobs that ended as unknown_stopped and were done after all, and returns them as spans. Their key
went on long ago.';
