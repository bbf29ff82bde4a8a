create or replace function pgbaton.parent_outcomes(job_id bigint, lease_token bigint default null)
returns setof pgbaton.job_outcome
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_span constant pgbaton.span := pgbaton._live_span(job_id);
    v_allowed constant integer[] := pgbaton._allowed_queues('work');
    v_parent_ids bigint[];
begin
    if v_span.lo is null or v_span.queue_id <> all (v_allowed) or v_span.state not in ('active', 'cancelling')
        or v_span.lease_token <> parent_outcomes.lease_token
    then
        perform pgbaton._refuse(job_id, 'parent_outcomes', true, lease_token);
    end if;
    v_parent_ids := array(
        select e.parent_id from pgbaton.job_edge as e where e.child_id = parent_outcomes.job_id order by e.ordinal
    );
    return query select * from pgbaton._ended_as(
        v_parent_ids,
        pgbaton._granted_ids(v_parent_ids, 'work') || pgbaton._granted_ids(v_parent_ids, 'monitor')
    );
end;
$$;
comment on function pgbaton.parent_outcomes(bigint, bigint) is
'The outcomes of the jobs for which a running job has waited, each with its result and last error, in the order of
their ids; no rows for a job that waited for none. It is for the worker that runs the job; a worker that is narrowed to
queues learns nothing of jobs in queues where it may neither work nor look. The outcomes are kept as long as the job
lives. lease_token: of the claim; null is not checked. Raises PB002 (no such job), PB003 (not running), PB004 (lease
lost) or 22004.';
