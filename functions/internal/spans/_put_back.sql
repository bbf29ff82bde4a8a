create or replace function pgbaton._put_back(
    whole pgbaton.span, lo bigint, hi bigint, is_busy boolean default false
)
returns void
language plpgsql volatile
as $$
begin
    perform pgbaton._put(array(
        select row(
            p.lo, p.hi, whole.position + (p.hi - whole.hi), whole.key_position + (p.lo - whole.lo), whole.lease_token,
            whole.lease_until, whole.claimed_at, whole.started_at, whole.run_at, whole.changed_at, whole.day,
            whole.queue_id, whole.lane_id, whole.state, whole.attempt, whole.extra_attempts, whole.slot, whole.ready,
            whole.singleton_key, whole.held_key, whole.worker_id, whole.policy
        )::pgbaton.span
        from (
            select _put_back.lo, _put_back.hi where not is_busy
            union all
            select g.id, g.id from generate_series(_put_back.lo, _put_back.hi) as g (id) where is_busy
        ) as p
    ));
    if whole.ready and (hi < whole.hi or (is_busy and lo < hi)) then
        -- A span stands at the position of its last job. Scans may begin there already, behind what is left of it.
        insert into pgbaton.rewind (lane_id, position)
        values (whole.lane_id, whole.position + (case when is_busy then lo else hi end - whole.hi));
    end if;
end;
$$;
comment on function pgbaton._put_back(pgbaton.span, bigint, bigint, boolean) is
'Inserts a part of a span that was split as a span of its own, at the positions its jobs had. When it is_busy, as
one for each job: then sessions that finish them at the same time need not wait for each other.';
