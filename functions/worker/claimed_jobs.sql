create or replace function pgbaton.claimed_jobs(
    lease_token bigint, first_id bigint default null, last_id bigint default null
)
returns setof pgbaton.claimed_job
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_allowed constant integer[] := case
        when pgbaton._has_grants() then pgbaton._allowed_queues('work')
    end;
    v_first_day date;
    v_last_day date;
begin
    perform pgbaton._check_token(lease_token);
    select min(s.day), max(s.day) into v_first_day, v_last_day
    from pgbaton.span as s
    where s.lease_token = claimed_jobs.lease_token;
    return query
    select
        j.id, q.name, l.job_type, l.tags, l.priority, j.singleton_key, s.attempt,
        coalesce((j.options).max_attempts, q.max_attempts) + coalesce(s.extra_attempts, 0),
        j.payload, j.created_at, s.run_at, s.claimed_at, s.lease_until, s.lease_token,
        (j.options).headers
    from (
        -- By the token alone: with the state in the statement, all leases would be read, dead entries included.
        select n.* from pgbaton.span as n where n.lease_token = claimed_jobs.lease_token offset 0
    ) as s
    -- Each by its id, as in claim_job_batch.
    cross join lateral (
        select n.job_type, n.tags, n.priority from pgbaton.lane as n where n.id = s.lane_id offset 0
    ) as l
    cross join lateral (
        select n.name, n.max_attempts from pgbaton.queue as n where n.id = s.queue_id offset 0
    ) as q
    cross join lateral (
        select k.id, k.options, k.payload, k.created_at, k.singleton_key
        from pgbaton.job as k
        where k.day = s.day and k.day >= v_first_day and k.day <= v_last_day and k.id between s.lo and s.hi
        order by k.id
        offset 0
    ) as j
    where s.state in ('active', 'cancelling')
        and (v_allowed is null or s.queue_id = any (v_allowed))
        and j.id >= coalesce(first_id, 0) and j.id <= coalesce(last_id, 9223372036854775807)
    order by l.priority desc, s.position, j.id;
end;
$$;
comment on function pgbaton.claimed_jobs(bigint, bigint, bigint) is
'The jobs that a claim still holds, as claim_job_batch returned them: all, or those with ids from first_id to last_id.
For a claim that several processes work off. Raises 22004 for a null token.';
