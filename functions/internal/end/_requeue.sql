create or replace function pgbaton._requeue(spans pgbaton.span[], state pgbaton.job_state, run_at timestamptz)
returns void
language plpgsql volatile
as $$
declare
    v_sleepers_from constant bigint := pgbaton._sleepers_from();
    v_is_ready constant boolean := run_at <= pgbaton._now();
    v_refused pgbaton.span[];
begin
    v_refused := pgbaton._put(array(
        select row(
            s.lo, s.hi, s.position, s.key_position,
            -- A lease that just ended: until somebody else claims the job, who had it may still end it.
            case when b.state = 'unknown_retry' and s.lease_until < _requeue.run_at then s.lease_token end,
            null, s.claimed_at, s.started_at, _requeue.run_at, pgbaton._now(), s.day, s.queue_id, s.lane_id, b.state,
            s.attempt, s.extra_attempts,
            pgbaton._slot(s.policy, b.state, s.claimed_at, s.attempt, b.held_key, s.lo),
            v_is_ready and not b.is_beside, s.singleton_key, b.held_key, s.worker_id, s.policy
        )::pgbaton.span
        from unnest(spans) as s
        -- It ran beside the holder of its key, by key_limit or since set_fifo_mode put the queue in order: back in
        -- line.
        cross join lateral (
            select
                l.is_beside, case when l.is_beside then 'waiting' else _requeue.state end as state,
                case when v_is_ready or s.policy is null then s.held_key end as held_key
            from (
                select s.key_position is not null and s.held_key is null and (s.policy is null or v_is_ready)
                as is_beside
            ) as l
            offset 0
        ) as b
    ), may_be_refused => true);
    -- Of stately another job of the key may stand where this one would be retried.
    if cardinality(v_refused) > 0 then
        v_refused := array(
            select s::pgbaton.span from unnest(spans) as s where s.lo in (select r.lo from unnest(v_refused) as r)
        );
        spans := array(
            select s::pgbaton.span from unnest(spans) as s where s.lo not in (select r.lo from unnest(v_refused) as r)
        );
        perform pgbaton._fail(
            v_refused, array(select r.lo from unnest(v_refused) as r),
            array_fill('another job of its key waits to be retried'::text, array[cardinality(v_refused)]), false, null
        );
    end if;
    if pg_sequence_last_value('pgbaton.edge_seq') is not null then  -- there are edges, or limits
        perform pgbaton._free_places(spans);
    end if;
    perform pgbaton._release_keys(array_agg(s.queue_id), array_agg(s.singleton_key))
    from unnest(spans) as s
    where s.policy is null and s.key_position is not null and s.held_key is null;

    if not v_is_ready then
        -- Only a FIFO job holds its key while it waits for its time.
        perform pgbaton._pass_batons_of(
            array(select s::pgbaton.span from unnest(spans) as s where s.policy is not null)
        );
        if exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from) then
            perform pgbaton._wake(array(select distinct s.lane_id from unnest(spans) as s), run_at);
        end if;
    else
        -- Their place may lie below the lane's watermark.
        insert into pgbaton.rewind (lane_id, position)
        select s.lane_id, min(s.position) from unnest(spans) as s group by s.lane_id;
        if exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from) then
            perform pgbaton._wake(array(select distinct s.lane_id from unnest(spans) as s));
        end if;
    end if;
end;
$$;
comment on function pgbaton._requeue(pgbaton.span[], pgbaton.job_state, timestamptz) is
'Puts spans that were carved out back as claimable from run_at on, in their old place, without a lease; as
unknown_retry with the token that they had, when their lease has ended and was not taken away. Of stately one
that was tried fails when another one of its key is being retried.';
