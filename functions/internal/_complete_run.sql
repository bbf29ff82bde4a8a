create or replace function pgbaton._complete_run(job_ids bigint[], lease_token bigint)
returns boolean
language plpgsql volatile
as $$
declare
    v_first constant bigint := job_ids[1];
    v_last constant bigint := job_ids[cardinality(job_ids)];
    v_states constant pgbaton.job_state[] := array['active', 'cancelling']::pgbaton.job_state[];
    v_spans pgbaton.span[];
begin
    if v_first < 1 or v_last - cardinality(job_ids) + 1 <> v_first then
        return false;
    elsif job_ids <> array(select generate_series(v_first, v_last)) or exists (select from pgbaton.queue_grant) then
        return false;
    end if;
    with locked as materialized (
        -- Only the ids can be looked up in an index: by token or state, all spans of the claim would be read.
        select s.lo, s.hi from pgbaton.span as s
        where s.lo between v_first and v_last and s.hi <= v_last
            and s.lease_token is not distinct from _complete_run.lease_token and s.state = any (v_states)
        order by s.lo
        for update
    ), removed as (
        delete from pgbaton.span as s
        where s.lo = any (array(
            select l.lo from locked as l
            where (select sum(a.hi - a.lo + 1) from locked as a) = cardinality(job_ids)
        ))
        returning s.*
    ), kept as (
        insert into pgbaton.job_history (
            lo, hi, claimed_at, started_at, finished_at, run_at, day, queue_id, lane_id, state, attempt,
            extra_attempts, worker_id
        )
        select
            r.lo, r.hi, r.claimed_at, r.started_at, pgbaton._now(), r.run_at, r.day, r.queue_id, r.lane_id,
            'completed', r.attempt, r.extra_attempts, r.worker_id
        from removed as r
    )
    select array_agg(r::pgbaton.span) into v_spans from removed as r;
    if exists (select from unnest(v_spans) as s where s.held_key is not null) then
        perform pgbaton._pass_batons_of(v_spans);
    end if;
    return v_spans is not null;
end;
$$;
comment on function pgbaton._complete_run(bigint[], bigint) is
'The short way of complete_jobs for consecutive ids that are all jobs of some spans under this token, as it is when
a worker completes what it claimed. False when they are not: then nothing was done.';
