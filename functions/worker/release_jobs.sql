create or replace function pgbaton.release_jobs(
    job_ids bigint[], lease_token bigint, run_in interval default '0', error_message text default null
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
    v_spans pgbaton.span[];
begin
    perform pgbaton._check_ids(job_ids);
    perform pgbaton._check_token(lease_token);
    perform pgbaton._check_duration('run_in', run_in);
    v_spans := pgbaton._carve(job_ids, array['active']::pgbaton.job_state[], true, lease_token);
    perform pgbaton._requeue(
        array(
            select row(
                s.lo, s.hi, s.position, s.key_position, null, null, s.claimed_at, s.started_at, null, null, s.day,
                s.queue_id, s.lane_id, s.state, s.attempt - 1, s.extra_attempts, s.slot, s.ready, s.singleton_key,
                s.held_key, s.worker_id, s.policy
            )::pgbaton.span
            from unnest(v_spans) as s
        ),
        'retry', pgbaton._after(pgbaton._now(), coalesce(run_in, '0'))
    );
    if error_message is not null then
        perform pgbaton._note_message(v_spans, error_message, false);
    end if;
    return query select * from pgbaton._verdicts(job_ids, v_spans, lease_token);
end;
$$;
comment on function pgbaton.release_jobs(bigint[], bigint, interval, text) is
'Gives claimed jobs back, in their old place, without counting the attempt; they are claimable after run_in. A FIFO job
keeps its key. error_message, if given, is kept as the last error of each job. One verdict for each id in input order:
ok, lease_lost, invalid_state or not_found.
Raises 2202E, 22004 or 22023.';
