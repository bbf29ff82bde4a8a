create or replace function pgbaton._make_due(
    due_from timestamptz, at timestamptz, max_spans integer, only_lo bigint default null
)
returns bigint
language plpgsql volatile
as $$
declare
    v_sleepers_from constant bigint := pgbaton._sleepers_from();
    v_los bigint[];
    v_positions bigint[];
    v_plain_los bigint[];
    v_ordered_los bigint[];
    v_count bigint := 0;
    v_lane_ids integer[];
    v_line_queue_ids integer[];
    v_line_keys text[];
begin
    with due as materialized (
        select s.lo, s.queue_id
        from only pgbaton.span as s
        where not s.ready and s.state in ('pending', 'retry', 'unknown_retry')
            and s.run_at >= due_from and s.run_at <= at
            and (only_lo is null or s.lo = only_lo)
        order by s.run_at
        limit max_spans
        for update skip locked
    ), tickets as materialized (
        select
            d.lo, nextval('pgbaton.position_seq') as position,
            (select q.policy = 'standard' from pgbaton.queue as q where q.id = d.queue_id) as is_plain
        from due as d
    )
    select
        array_agg(t.lo order by t.lo), array_agg(t.position order by t.lo),
        array_agg(t.lo) filter (where t.is_plain), array_agg(t.lo) filter (where not t.is_plain)
    into v_los, v_positions, v_plain_los, v_ordered_los
    from tickets as t;
    if v_los is null then
        return 0;
    end if;

    if v_plain_los is not null then
        with removed as (
            delete from only pgbaton.span as s where s.lo = any (v_plain_los) returning s.*
        ), made_due as (
            insert into pgbaton.ready_span (
                lo, hi, position, lease_token, claimed_at, started_at, run_at, changed_at, day, queue_id, lane_id,
                state,
                attempt, extra_attempts, ready, singleton_key, worker_id
            )
            select
                -- The place of lo in v_los, which are in order.
                s.lo, s.hi, v_positions[width_bucket(s.lo, v_los)] + (s.hi - s.lo), s.lease_token, s.claimed_at,
                s.started_at, s.run_at, s.changed_at, s.day, s.queue_id, s.lane_id, s.state, s.attempt,
                s.extra_attempts, true, s.singleton_key, s.worker_id
            from removed as s
            returning hi - lo + 1 as jobs, lane_id
        )
        select coalesce(sum(m.jobs), 0), array_agg(distinct m.lane_id) into v_count, v_lane_ids from made_due as m;
    end if;
    if v_ordered_los is not null then
        with made_due as (
            update only pgbaton.span as s
            set (ready, position, state, key_position, lease_token) = (
                select
                    t.is_ready, t.position, case when t.is_ready then s.state else 'waiting' end,
                    case when t.is_ready then s.key_position else t.position end,
                    case when t.is_ready then s.lease_token end
                from (
                    select
                        v_positions[width_bucket(s.lo, v_los)] + (s.hi - s.lo) as position,
                        -- Of a policy with a baton and without it, it goes to the line of its key.
                        s.policy is null or s.policy not in ('singleton', 'stately')
                            or s.held_key is not null as is_ready
                    offset 0
                ) as t
            )
            -- Not a join: where the table seems to be empty it would read all of the index, dead entries included.
            where s.lo = any (v_ordered_los)
            returning s.hi - s.lo + 1 as jobs, s.lane_id, s.ready, s.state, s.queue_id, s.singleton_key
        )
        select
            v_count + coalesce(sum(m.jobs), 0), v_lane_ids || array_agg(distinct m.lane_id) filter (where m.ready),
            array_agg(m.queue_id) filter (where m.state = 'waiting'),
            array_agg(m.singleton_key) filter (where m.state = 'waiting')
        into v_count, v_lane_ids, v_line_queue_ids, v_line_keys
        from made_due as m;
        perform pgbaton._release_keys(v_line_queue_ids, v_line_keys);
    end if;
    if v_lane_ids is not null and exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from) then
        perform pgbaton._wake(v_lane_ids);
    end if;
    return v_count;
end;
$$;
comment on function pgbaton._make_due(timestamptz, timestamptz, integer, bigint) is
'Makes jobs claimable whose run_at has come, at the end of their line, and returns how many. only_lo: one span
alone.';
