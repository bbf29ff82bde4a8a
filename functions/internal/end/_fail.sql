create or replace function pgbaton._fail(
    spans pgbaton.span[], job_ids bigint[], messages text[], retryable boolean, retry_in interval,
    stacks text[] default null
)
returns void
language plpgsql volatile
as $$
declare
    v_sleepers_from constant bigint := pgbaton._sleepers_from();
    v_now constant timestamptz := pgbaton._now();
    v_opened pgbaton.span[];
    v_back pgbaton.span[];
    v_refused pgbaton.span[];
    v_line_queue_ids integer[];
    v_line_keys text[];
    v_ready_lanes integer[];
    v_later_lanes integer[];
    v_next_at timestamptz;
begin
    if exists (select from unnest(spans) as s where s.held_key is not null and s.policy is null) then
        -- Whether the key is blocked stays as it is judged here: see update_queue.
        perform from pgbaton.queue as q where q.id in (select s.queue_id from unnest(spans) as s)
        order by q.id
        for share;
    end if;
    with judged as materialized (
        select
            j.*, pgbaton._shortened(m.message, 1048576) as message, pgbaton._shortened(m.stack, 65536) as stack,
            case
                when retryable and not j.is_spent
                    then pgbaton._after(
                        v_now, coalesce(retry_in, pgbaton._retry_delay((j.span).attempt, j.options, j.queue))
                    )
            end as again_at
        from pgbaton._jobs_of(spans) as j
        inner join (
            select distinct on (i.id) i.id, i.message, i.stack
            from unnest(job_ids, messages, stacks) with ordinality as i (id, message, stack, ordinal)
            order by i.id, i.ordinal
        ) as m on m.id = j.job_id
    ), failing as materialized (
        -- Only a FIFO job keeps its key, and of another policy it comes back through the line of its key.
        select
            j.*,
            (j.span).policy is null and (j.again_at is not null or (j.queue).on_exhausted = 'block') as keeps_key,
            coalesce(
                j.again_at <= v_now and ((j.span).policy is null or (j.span).held_key is null) and not l.is_beside,
                false
            ) as is_ready,
            l.is_beside and coalesce(j.again_at <= v_now or (j.span).policy is null and j.again_at is not null, false)
            as is_back_in_line
        from judged as j
        -- It ran beside the holder of its key, by key_limit or when set_fifo_mode put the queue in order.
        cross join lateral (
            select
                (j.span).key_position is not null and (j.span).held_key is null as is_beside
        ) as l
    ), back as materialized (
        select row(
            f.job_id, f.job_id,
            case when f.is_ready then nextval('pgbaton.position_seq')
                else (f.span).position + (f.job_id - (f.span).hi) end,
            (f.span).key_position, null, null, (f.span).claimed_at, (f.span).started_at, f.again_at, v_now,
            (f.span).day, (f.span).queue_id, (f.span).lane_id,
            n.state,
            (f.span).attempt, (f.span).extra_attempts,
            pgbaton._slot((f.span).policy, n.state, (f.span).claimed_at, (f.span).attempt, n.held_key, f.job_id),
            f.is_ready, (f.span).singleton_key,
            n.held_key, (f.span).worker_id, (f.span).policy
        )::pgbaton.span as span
        from failing as f
        cross join lateral (
            select
                case
                    when f.again_at is null then 'failed'::pgbaton.job_state
                    when f.is_back_in_line then 'waiting'
                    else 'retry'
                end as state,
                case when f.keeps_key then (f.span).held_key end as held_key
            offset 0
        ) as n
    ), noted as (
        insert into pgbaton.job_error (job_id, failed_at, day, attempt, worker_id, message, claimed_at, stack)
        select
            f.job_id, v_now, (f.span).day, (f.span).attempt, (f.span).worker_id, f.message, (f.span).claimed_at,
            nullif(f.stack, '')
        from failing as f
    ), reported as (
        insert into pgbaton.job_report as r (job_id, last_retry_at, day, retry_count, last_error)
        select
            f.job_id, case when f.again_at is not null then v_now end, (f.span).day,
            (f.again_at is not null)::integer, f.message
        from failing as f
        on conflict on constraint job_report_pkey do update
        set last_retry_at = coalesce(excluded.last_retry_at, r.last_retry_at),
            retry_count = r.retry_count + excluded.retry_count,
            last_error = excluded.last_error
    ), undelivered as (
        insert into pgbaton.kv (key, queue_id, value, updated_at)
        select distinct on (k.key, (f.span).queue_id) k.key, (f.span).queue_id, f.payload, v_now
        from failing as f
        cross join lateral jsonb_array_elements((f.options).keys_if_undelivered) as p (path)
        cross join lateral (select array(select jsonb_array_elements_text(p.path)) as key) as k
        where f.again_at is null
        order by k.key, (f.span).queue_id, f.job_id desc
        on conflict on constraint kv_pkey do update
        set value = excluded.value, updated_at = excluded.updated_at
    )
    select
        array_agg(f.span) filter (where not f.keeps_key),
        array_agg((f.span).queue_id) filter (where f.is_back_in_line),
        array_agg((f.span).singleton_key) filter (where f.is_back_in_line),
        array_agg(distinct (f.span).lane_id) filter (where f.is_ready),
        -- Of a policy with a baton one that is due at once is made claimable by the next claim.
        array_agg(distinct (f.span).lane_id) filter (where not f.is_ready and f.again_at is not null),
        min(f.again_at) filter (where not f.is_ready),
        (select array_agg(b.span) from back as b)
    into v_opened, v_line_queue_ids, v_line_keys, v_ready_lanes, v_later_lanes, v_next_at, v_back
    from failing as f;
    -- Of stately another job of the key may have come to where this one would be retried, since that was looked at.
    v_refused := pgbaton._put(v_back, may_be_refused => true);
    if cardinality(v_refused) > 0 then
        insert into pgbaton.span (
            lo, hi, position, key_position, claimed_at, started_at, changed_at, day, queue_id, lane_id, state, attempt,
            extra_attempts, ready, singleton_key, worker_id, policy
        )
        select
            s.lo, s.hi, s.position, s.key_position, s.claimed_at, s.started_at, v_now, s.day, s.queue_id, s.lane_id,
            'failed', s.attempt, s.extra_attempts, false, s.singleton_key, s.worker_id, s.policy
        from unnest(v_refused) as s;
        update pgbaton.job_report as r set retry_count = r.retry_count - 1
        from unnest(v_refused) as s
        where r.job_id = s.lo and r.day = s.day;
    end if;

    if v_ready_lanes is not null and exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from) then
        perform pgbaton._wake(v_ready_lanes);
    end if;
    if v_later_lanes is not null and exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from) then
        perform pgbaton._wake(v_later_lanes, v_next_at);
    end if;
    perform pgbaton._pass_batons_of(v_opened);
    perform pgbaton._release_keys(v_line_queue_ids, v_line_keys);
    if pg_sequence_last_value('pgbaton.edge_seq') is not null then  -- there are edges, or limits
        perform pgbaton._free_places(spans);
        perform pgbaton._tell_children(spans, false);
    end if;
end;
$$;
comment on function pgbaton._fail(pgbaton.span[], bigint[], text[], boolean, interval, text[]) is
'Ends an attempt of each job, spans that were carved out, with its message and stack, if any: it runs again after
retry_in, else
after the delay of its options or queue, or is failed when it may not be retried or no attempt is left.';
