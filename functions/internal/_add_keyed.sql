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
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_day constant date := pgbaton._day(v_now);
    v_is_fresh constant boolean := pgbaton._is_read_committed();
    v_busy text[] := '{}';
begin
    perform pg_current_xact_id();  -- before a position is drawn: see _note_horizon
    perform pgbaton._lock_stripes(queue.id, singleton_keys);
    if v_is_fresh then
        v_busy := pgbaton._busy_keys(queue.id, singleton_keys);
    else
        -- An older snapshot cannot tell whether a key is busy: all wait, the next claim passes the baton.
        insert into pgbaton.baton_release (queue_id, singleton_key)
        select distinct queue.id, k.singleton_key from unnest(singleton_keys) as k (singleton_key);
    end if;

    return query
    with marked as (
        select
            u.*,
            v_is_fresh and row_number() over (partition by u.singleton_key order by u.ordinal) = 1
                and u.singleton_key not in (select b.busy_key from unnest(v_busy) as b (busy_key)) as is_head
        from unnest(payloads, singleton_keys, lane_ids, run_ats, options)
        with ordinality as u (
            payload, singleton_key, lane_id, run_at,
            max_attempts, retry_delay, retry_backoff, backoff_schedule, keys_if_undelivered, ordinal
        )
        order by u.ordinal
        offset 0
    ), input as materialized (
        select
            nextval('pgbaton.job_id_seq') as id, nextval('pgbaton.position_seq') as position,
            m.payload, m.singleton_key, m.is_head, m.ordinal,
            coalesce(m.lane_id, _add_keyed.lane_id) as lane_id,
            coalesce(m.run_at, _add_keyed.run_at) as run_at,
            case when options is not null then pgbaton._job_options(
                m.max_attempts, m.retry_delay, m.retry_backoff, m.backoff_schedule, m.keys_if_undelivered
            ) end as options
        from marked as m
    ), stored as (
        insert into pgbaton.job (id, created_at, day, lane_id, singleton_key, options, payload)
        select i.id, v_now, v_day, i.lane_id, i.singleton_key, i.options, i.payload
        from input as i
    ), spans as (
        insert into pgbaton.span (
            lo, hi, position, key_position, run_at, day, queue_id, lane_id, state, ready, singleton_key, held_key
        )
        select
            i.id, i.id, i.position, i.position, i.run_at, v_day, queue.id, i.lane_id,
            case when i.is_head then 'pending'::pgbaton.job_state else 'waiting' end,
            i.is_head and (i.run_at is null or i.run_at <= v_now),
            i.singleton_key, case when i.is_head then i.singleton_key end
        from input as i
    )
    select i.id from input as i order by i.ordinal;
end;
$$;
comment on function pgbaton._add_keyed(
    pgbaton.queue, integer, timestamptz, jsonb[], text[], integer[], timestamptz[], pgbaton.job_options[]
) is
'Adds jobs of a FIFO queue in input order and returns their ids in that order. The first job of an idle key
gets the baton.';
