create or replace function pgbaton.start_jobs(job_ids bigint[], lease_token bigint)
returns setof pgbaton.verdict
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_spans pgbaton.span[];
begin
    perform pgbaton._check_ids(job_ids);
    perform pgbaton._check_token(lease_token);
    v_spans := pgbaton._carve(job_ids, array['active', 'cancelling']::pgbaton.job_state[], true, lease_token);
    v_spans := array(
        select row(
            s.lo, s.hi, s.position, s.key_position, s.lease_token, s.lease_until, s.claimed_at,
            coalesce(s.started_at, v_now), s.run_at, s.changed_at, s.day, s.queue_id, s.lane_id, s.state, s.attempt,
            s.extra_attempts, s.slot, s.ready, s.singleton_key, s.held_key, s.worker_id, s.policy
        )::pgbaton.span
        from unnest(v_spans) as s
    );
    perform pgbaton._put(v_spans);
    return query select * from pgbaton._verdicts(job_ids, v_spans, lease_token, 'cancel_requested');
end;
$$;
comment on function pgbaton.start_jobs(bigint[], bigint) is
'Says that claimed jobs now run, and sets started_at the first time. One verdict for each id in input order: ok,
cancel_requested (somebody cancelled it: stop and acknowledge), lease_lost, invalid_state or not_found. Raises 2202E or
22004.';
