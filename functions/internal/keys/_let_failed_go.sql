create or replace function pgbaton._let_failed_go(los bigint[])
returns void
language plpgsql volatile
as $$
declare
    v_spans pgbaton.span[];
begin
    v_spans := pgbaton._carve(los, array['failed']::pgbaton.job_state[]);
    perform pgbaton._put(array(
        select row(
            s.lo, s.hi, s.position, s.key_position, s.lease_token, s.lease_until, s.claimed_at, s.started_at, s.run_at,
            s.changed_at, s.day, s.queue_id, s.lane_id, s.state, s.attempt, s.extra_attempts,
            pgbaton._slot(s.policy, s.state, s.claimed_at, s.attempt, null, s.lo), s.ready, s.singleton_key, null,
            s.worker_id, s.policy
        )::pgbaton.span
        from unnest(v_spans) as s
    ));
    perform pgbaton._pass_batons_of(v_spans);
end;
$$;
comment on function pgbaton._let_failed_go(bigint[]) is
'Has failed jobs, which are spans of one, let go of their keys, which then go on with the next job.';
