create or replace function pgbaton._retry_at_once(queue text, job_ids bigint[], extra_attempts integer)
returns bigint[]
language plpgsql volatile
as $$
declare
    v_sleepers_from constant bigint := pgbaton._sleepers_from();
    v_now constant timestamptz := pgbaton._now();
    v_los bigint[];
    v_positions bigint[];
    v_spans pgbaton.span[];
    v_lane_ids integer[];
begin
    with free as materialized (
        select s.lo from only pgbaton.span as s
        where s.lo = any (job_ids) and s.state = 'failed' and coalesce(s.policy not in ('stately', 'exclusive'), true)
            and (s.key_position is null or s.held_key is not null)
        order by s.lo
    ), tickets as materialized (
        select f.lo, nextval('pgbaton.position_seq') as position from free as f
    )
    select array_agg(t.lo order by t.lo), array_agg(t.position order by t.lo) into v_los, v_positions
    from tickets as t;
    with removed as (
        delete from only pgbaton.span as s where s.lo = any (v_los) returning s.*
    )
    select array_agg(
        row(
            s.lo, s.hi, v_positions[width_bucket(s.lo, v_los)],  -- the place of lo, since they are in order
            s.key_position, s.lease_token, s.lease_until, s.claimed_at, s.started_at, v_now, v_now, s.day, s.queue_id,
            s.lane_id, 'retry', s.attempt,
            nullif(least(coalesce(s.extra_attempts, 0) + _retry_at_once.extra_attempts, 1000000000), 0),
            pgbaton._slot(s.policy, 'retry', s.claimed_at, s.attempt, s.held_key, s.lo), true, s.singleton_key,
            s.held_key, s.worker_id, s.policy
        )::pgbaton.span
        order by s.lo
    ) into v_spans
    from removed as s;
    perform pgbaton._put(v_spans);
    insert into pgbaton.audit (at, actor, action, queue, job_id, singleton_key)
    select v_now, pgbaton._actor(), 'retry_job', queue, r.lo, r.singleton_key from unnest(v_spans) as r order by r.lo;
    select array_agg(distinct r.lane_id) into v_lane_ids from unnest(v_spans) as r;
    if v_lane_ids is not null and exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from) then
        perform pgbaton._wake(v_lane_ids);
    end if;
    return coalesce(v_los, '{}');
end;
$$;
comment on function pgbaton._retry_at_once(text, bigint[], integer) is
'What retry_job does, for those of these jobs, which the caller has locked, that need no place in the line of a key,
with few statements for all of them. Returns them.';
