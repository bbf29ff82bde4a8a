create or replace function pgbaton._reschedule_jobs(job_ids bigint[], run_at timestamptz)
returns bigint
language plpgsql volatile
as $$
declare
    v_spans pgbaton.span[];
    v_held_ids bigint[];
begin
    -- What has a policy, or waits for jobs, is looked at one by one.
    v_spans := array(
        select row(
            p.lo, p.hi, s.position + (p.hi - s.hi), s.key_position + (p.lo - s.lo), s.lease_token, s.lease_until,
            s.claimed_at, s.started_at, s.run_at, s.changed_at, s.day, s.queue_id, s.lane_id, s.state, s.attempt,
            s.extra_attempts, s.slot, s.ready, s.singleton_key, s.held_key, s.worker_id, s.policy
        )::pgbaton.span
        from unnest(
            pgbaton._carve(job_ids, array['pending', 'waiting', 'retry', 'unknown_retry']::pgbaton.job_state[])
        ) as s
        cross join lateral (
            select g.lo, least(g.lo + n.jobs - 1, s.hi) as hi
            from (
                select case when s.policy is null and s.run_at is distinct from 'infinity' then 64 else 1 end as jobs
            ) as n
            cross join lateral generate_series(s.lo, s.hi, n.jobs) as g (lo)
        ) as p
        order by p.lo
    );
    with held as (
        update pgbaton.job_wait as w set run_at = _reschedule_jobs.run_at
        where w.child_id in (select s.lo from unnest(v_spans) as s where s.run_at = 'infinity')
        returning w.child_id
    )
    select array_agg(h.child_id) into v_held_ids from held as h;
    perform pgbaton._reschedule(
        array(select s::pgbaton.span from unnest(v_spans) as s where s.lo = any (v_held_ids)), 'infinity'
    );
    perform pgbaton._reschedule(
        array(select s::pgbaton.span from unnest(v_spans) as s where (s.lo = any (v_held_ids)) is not true),
        _reschedule_jobs.run_at
    );
    return coalesce((select sum(s.hi - s.lo + 1) from unnest(v_spans) as s), 0);
end;
$$;
comment on function pgbaton._reschedule_jobs(bigint[], timestamptz) is
'Moves those of these jobs that nobody has claimed to another time, as reschedule_job does, and returns how many.';
