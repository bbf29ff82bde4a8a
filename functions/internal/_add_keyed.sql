create or replace function pgbaton._add_keyed(
    queue pgbaton.queue,
    lane_id integer,
    run_at timestamptz,
    payloads jsonb[],
    singleton_keys text[],
    lane_ids integer[] default null,
    run_ats timestamptz[] default null,
    options pgbaton.job_options[] default null
)
returns setof bigint
language plpgsql volatile
as $$
declare
    v_has_paused constant boolean := exists (select from pgbaton.paused_key);
    v_now constant timestamptz := pgbaton._now();
    v_day constant date := pgbaton._day(v_now);
    v_is_fresh constant boolean := pgbaton._is_read_committed();
    v_line_keys constant text[] := array(
        select distinct coalesce(k.singleton_key, '') from unnest(
            coalesce(singleton_keys, array_fill(null::text, array[cardinality(payloads)]))
        ) as k (singleton_key)
    );
    v_unsure text[];
    v_busy text[];
begin
    perform pg_current_xact_id();  -- before a position is drawn: see _note_horizon
    perform pgbaton._lock_stripes(queue.id, v_line_keys);
    -- As in _lock_key: whether these keys are busy cannot be told, so their jobs wait for the next claim.
    v_unsure := array(
        select k.line_key from unnest(v_line_keys) as k (line_key)
        where not v_is_fresh
            or not pg_try_advisory_xact_lock(pgbaton._lock_class() + 2, pgbaton._stripe(queue.id, k.line_key))
    );
    insert into pgbaton.baton_release (queue_id, singleton_key)
    select queue.id, u.line_key from unnest(v_unsure) as u (line_key);
    v_busy := v_unsure || pgbaton._busy_keys(queue.id, array(
        select k.line_key from unnest(v_line_keys) as k (line_key)
        where k.line_key not in (select u.line_key from unnest(v_unsure) as u (line_key))
    ));

    if exists (select from pgbaton.sleeper) then
        perform pgbaton._wake(coalesce(lane_ids, '{}') || lane_id);
    end if;
    return query
    with marked as (
        select
            u.*,
            v_is_fresh and u.is_in_line
                and row_number() over (partition by u.is_in_line, u.line_key order by u.ordinal) = 1
                and u.line_key not in (select b.busy_key from unnest(v_busy) as b (busy_key)) as is_head
        from (
            select
                w.*, coalesce(w.singleton_key, '') as line_key,
                -- Only a FIFO job holds its key while it waits for its time.
                queue.policy = 'fifo' or coalesce(w.run_at, _add_keyed.run_at, v_now) <= v_now as is_in_line
            from unnest(payloads, singleton_keys, lane_ids, run_ats, options)
            with ordinality as w (
                payload, singleton_key, lane_id, run_at,
                max_attempts, retry_delay, retry_backoff, backoff_schedule, keys_if_undelivered, headers, ordinal
            )
        ) as u
        order by u.ordinal
        offset 0
    ), input as materialized (
        select
            nextval('pgbaton.job_id_seq') as id, nextval('pgbaton.position_seq') as position,
            m.payload, m.singleton_key, m.line_key, m.is_in_line, m.is_head, m.ordinal,
            coalesce(m.lane_id, _add_keyed.lane_id) as lane_id,
            coalesce(m.run_at, _add_keyed.run_at) as run_at,
            case when options is not null then pgbaton._job_options(
                m.max_attempts, m.retry_delay, m.retry_backoff, m.backoff_schedule, m.keys_if_undelivered,
                m.headers
            ) end as options
        from marked as m
    ), stored as (
        insert into pgbaton.job (id, created_at, day, lane_id, singleton_key, options, payload)
        select i.id, v_now, v_day, i.lane_id, i.singleton_key, i.options, i.payload
        from input as i
    ), spans as (
        insert into pgbaton.span (
            lo, hi, position, key_position, run_at, day, queue_id, lane_id, state, ready, singleton_key, held_key,
            policy
        )
        select
            i.id, i.id, i.position, i.position, i.run_at, v_day, queue.id, i.lane_id,
            case when i.is_head or not i.is_in_line then 'pending'::pgbaton.job_state else 'waiting' end,
            i.is_head and (i.run_at is null or i.run_at <= v_now)
                and not (v_has_paused and exists (
                    select from pgbaton.paused_key as k
                    where k.queue_id = queue.id and k.singleton_key = i.line_key
                )),
            i.line_key, case when i.is_head then i.line_key end, nullif(queue.policy, 'fifo')
        from input as i
    )
    select i.id from input as i order by i.ordinal;
end;
$$;
comment on function pgbaton._add_keyed(
    pgbaton.queue, integer, timestamptz, jsonb[], text[], integer[], timestamptz[], pgbaton.job_options[]
) is
'Adds jobs of a queue whose keys have a baton (fifo, singleton) in input order and returns their ids in that
order. The first job of an idle key gets the baton.';
