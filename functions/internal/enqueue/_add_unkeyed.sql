create or replace function pgbaton._add_unkeyed(
    queue pgbaton.queue,
    lane_id integer,
    run_at timestamptz,
    payloads jsonb[],
    singleton_keys text[] default null,
    lane_ids integer[] default null,
    run_ats timestamptz[] default null,
    options pgbaton.job_options[] default null
)
returns setof bigint
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_day constant date := pgbaton._day(v_now);
    v_sleepers_from constant bigint := pgbaton._sleepers_from();
begin
    perform pg_current_xact_id();  -- before a position is drawn: see _note_horizon
    return query
    with input as materialized (
        select
            nextval('pgbaton.job_id_seq') as id, u.payload, u.singleton_key, u.ordinal,
            coalesce(u.lane_id, _add_unkeyed.lane_id) as lane_id,
            coalesce(u.run_at, _add_unkeyed.run_at) as run_at,
            case when options is not null then pgbaton._job_options(
                u.max_attempts, u.retry_delay, u.retry_backoff, u.backoff_schedule, u.keys_if_undelivered,
                u.headers
            ) end as options
        from unnest(payloads, singleton_keys, lane_ids, run_ats, options)
        with ordinality as u (
            payload, singleton_key, lane_id, run_at,
            max_attempts, retry_delay, retry_backoff, backoff_schedule, keys_if_undelivered, headers, ordinal
        )
    ), stored as (
        insert into pgbaton.job (id, created_at, day, lane_id, singleton_key, options, payload)
        select i.id, v_now, v_day, i.lane_id, i.singleton_key, i.options, i.payload
        from input as i
    ), neighbours as (
        select
            i.*, i.id - row_number() over (
                partition by i.lane_id, i.run_at, i.singleton_key is null order by i.ordinal
            ) as run
        from input as i
    ), runs as (
        -- Consecutive ids of one lane share a span, cut where an id is a multiple of 64.
        select min(n.id) as lo, max(n.id) as hi, n.lane_id, n.run_at, min(n.singleton_key) as singleton_key
        from neighbours as n
        group by n.lane_id, n.run_at, n.run, (n.id - 1) / 64, case when n.singleton_key is not null then n.id end
        order by min(n.ordinal)
    ), spans as (
        insert into pgbaton.span (lo, hi, position, run_at, day, queue_id, lane_id, state, ready, singleton_key)
        select
            r.lo, r.hi, nextval('pgbaton.position_seq'), r.run_at, v_day, queue.id, r.lane_id, 'pending',
            r.run_at is null or r.run_at <= v_now, r.singleton_key
        from runs as r
    )
    select i.id from input as i order by i.ordinal;
    if exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from) then
        perform pgbaton._wake(coalesce(lane_ids, '{}') || lane_id);
    end if;
end;
$$;
comment on function pgbaton._add_unkeyed(
    pgbaton.queue, integer, timestamptz, jsonb[], text[], integer[], timestamptz[], pgbaton.job_options[]
) is
'Adds jobs without order among them and returns their ids in input order. lane_id and run_at hold for all rows
whose own entry in lane_ids or run_ats is null.';
