create or replace function pgbaton._reschedule(spans pgbaton.span[], run_at timestamptz)
returns void
language plpgsql volatile
as $$
declare
    v_is_due constant boolean := run_at <= pgbaton._now();
    v_back pgbaton.span[];
    v_ready_lanes integer[];
    v_later_lanes integer[];
begin
    v_back := array(
        select row(
            s.lo, s.hi,
            case when m.is_ready and not s.ready then nextval('pgbaton.position_seq') + s.hi - s.lo else s.position end,
            s.key_position, s.lease_token, null, s.claimed_at, s.started_at,
            case when s.ready and m.is_ready then s.run_at else _reschedule.run_at end, s.changed_at, s.day, s.queue_id,
            s.lane_id, m.state, s.attempt, s.extra_attempts,
            pgbaton._slot(s.policy, m.state, s.claimed_at, s.attempt, m.held_key, s.lo), m.is_ready, s.singleton_key,
            m.held_key, s.worker_id, s.policy
        )::pgbaton.span
        from unnest(spans) as s
        cross join lateral (
            select
                case
                    when l.leaves and s.state = 'waiting' and s.claimed_at is null then 'pending'
                    when l.leaves and s.state = 'waiting' then 'retry'
                    else s.state
                end as state,
                case when not l.leaves then s.held_key end as held_key,
                -- Of singleton and stately one without the key goes through the line of its key: see _make_due.
                v_is_due and s.state <> 'waiting'
                and (s.held_key is not null or s.policy is null or s.policy not in ('singleton', 'stately')) as is_ready
            -- Only a FIFO job holds its key, or its place in the line of its key, while it waits for its time.
            from (select not v_is_due and s.policy in ('singleton', 'stately') is true as leaves) as l
            offset 0
        ) as m
    );
    perform pgbaton._put(v_back);
    select
        array_agg(distinct b.lane_id) filter (where b.ready),
        array_agg(distinct b.lane_id) filter (where not b.ready and b.state <> 'waiting')
    into v_ready_lanes, v_later_lanes
    from unnest(v_back) as b;
    if not v_is_due then
        perform pgbaton._pass_batons_of(
            array(select s::pgbaton.span from unnest(spans) as s where s.policy in ('singleton', 'stately'))
        );
    end if;
    if v_ready_lanes is not null then
        perform pgbaton._wake(v_ready_lanes);
    end if;
    if v_later_lanes is not null then
        perform pgbaton._wake(v_later_lanes, run_at);
    end if;
end;
$$;
comment on function pgbaton._reschedule(pgbaton.span[], timestamptz) is
'Puts spans that were taken out, and that nobody has claimed, back to run at that time. What becomes claimable by it
gets a new place in its lane, as whatever becomes due; places in the line of a key stay.';
