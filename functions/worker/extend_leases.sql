create or replace function pgbaton.extend_leases(
    job_ids bigint[], lease_token bigint, lease interval default null
)
returns setof pgbaton.verdict
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_now timestamptz;
    v_spans pgbaton.span[];
begin
    perform pgbaton._check_ids(job_ids);
    perform pgbaton._check_token(lease_token);
    perform pgbaton._check_duration('lease', lease, false);
    v_spans := pgbaton._carve(job_ids, array['active', 'cancelling']::pgbaton.job_state[], true, lease_token);
    v_now := pgbaton._now();  -- after what _carve may have waited for
    perform pgbaton._put(array(
        select row(
            s.lo, s.hi, s.position, s.key_position, s.lease_token,
            pgbaton._after(v_now, coalesce(lease, (select q.lease from pgbaton.queue as q where q.id = s.queue_id))),
            s.claimed_at, s.started_at, s.run_at, s.changed_at, s.day, s.queue_id, s.lane_id, s.state, s.attempt,
            s.extra_attempts, s.slot, s.ready, s.singleton_key, s.held_key, s.worker_id, s.policy
        )::pgbaton.span
        from unnest(v_spans) as s
    ));
    if lease is not null then
        perform pgbaton._wake_for_lease(
            array(select distinct s.queue_id from unnest(v_spans) as s), pgbaton._after(v_now, lease)
        );
    end if;
    return query select * from pgbaton._verdicts(job_ids, v_spans, lease_token, 'cancel_requested');
end;
$$;
comment on function pgbaton.extend_leases(bigint[], bigint, interval) is
'Holds claimed jobs for another lease from now on (default: that of the queue). One verdict for each id in input order:
ok, cancel_requested (extended; stop and acknowledge), lease_lost (also when the lease has ended and the job was taken
back), invalid_state or not_found. Raises 2202E, 22004 or 22023.';
