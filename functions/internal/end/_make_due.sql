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
    v_count bigint;
    v_lane_ids integer[];
    v_line_queue_ids integer[];
    v_line_keys text[];
begin
    with due as materialized (
        select s.lo
        from pgbaton.span as s
        where not s.ready and s.state in ('pending', 'retry', 'unknown_retry')
            and s.run_at >= due_from and s.run_at <= at
            and (only_lo is null or s.lo = only_lo)
        order by s.run_at
        limit max_spans
        for update skip locked
    ), tickets as materialized (
        select d.lo, nextval('pgbaton.position_seq') as position from due as d
    )
    select array_agg(t.lo order by t.lo), array_agg(t.position order by t.lo) into v_los, v_positions
    from tickets as t;
    if v_los is null then
        return 0;
    end if;

    with made_due as (
        update pgbaton.span as s
        set (ready, position, state, key_position, lease_token) = (
            select
                t.is_ready, t.position, case when t.is_ready then s.state else 'waiting' end,
                case when t.is_ready then s.key_position else t.position end,
                case when t.is_ready then s.lease_token end
            from (
                select
                    -- The place of lo in v_los, which are in order.
                    v_positions[width_bucket(s.lo, v_los)] as position,
                    -- Of a policy with a baton and without it, it goes to the line of its key.
                    s.policy is null or s.policy not in ('singleton', 'stately') or s.held_key is not null as is_ready
                offset 0
            ) as t
        )
        -- Not a join: where the table seems to be empty it would read all of the index, dead entries included.
        where s.lo = any (v_los)
        returning s.hi - s.lo + 1 as jobs, s.lane_id, s.ready, s.state, s.queue_id, s.singleton_key
    )
    select
        coalesce(sum(m.jobs), 0), array_agg(distinct m.lane_id) filter (where m.ready),
        array_agg(m.queue_id) filter (where m.state = 'waiting'),
        array_agg(m.singleton_key) filter (where m.state = 'waiting')
    into v_count, v_lane_ids, v_line_queue_ids, v_line_keys
    from made_due as m;
    perform pgbaton._release_keys(v_line_queue_ids, v_line_keys);
    if v_lane_ids is not null and exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from) then
        perform pgbaton._wake(v_lane_ids);
    end if;
    return v_count;
end;
$$;
comment on function pgbaton._make_due(timestamptz, timestamptz, integer, bigint) is
'Makes jobs claimable whose run_at has come, at the end of their line, and returns how many. only_lo: one span
alone.';
