create or replace function pgbaton._put_back(
    whole pgbaton.span, lo bigint, hi bigint, is_busy boolean default false
)
returns void
language plpgsql volatile
as $$
declare
    v_part pgbaton.span := whole;
begin
    if is_busy then
        insert into pgbaton.span (
            lo, hi, position, key_position, lease_token, lease_until, claimed_at, started_at, run_at, changed_at, day,
            queue_id, lane_id, state, attempt, extra_attempts, slot, ready, singleton_key, held_key, worker_id, policy
        )
        select
            g.id, g.id, whole.position + (g.id - whole.lo), whole.key_position + (g.id - whole.lo), whole.lease_token,
            whole.lease_until, whole.claimed_at, whole.started_at, whole.run_at, whole.changed_at, whole.day, whole.queue_id,
            whole.lane_id, whole.state, whole.attempt, whole.extra_attempts, whole.slot, whole.ready, whole.singleton_key,
            whole.held_key, whole.worker_id, whole.policy
        from generate_series(lo, hi) as g (id);
        return;
    end if;
    v_part.lo := lo;
    v_part.hi := hi;
    v_part.position := whole.position + (lo - whole.lo);
    v_part.key_position := whole.key_position + (lo - whole.lo);
    insert into pgbaton.span values (v_part.*);
end;
$$;
comment on function pgbaton._put_back(pgbaton.span, bigint, bigint, boolean) is
'Inserts a part of a span that was split as a span of its own, at the positions its jobs had. When it is_busy, as
one for each job: then sessions that finish them at the same time need not wait for each other.';
