create or replace function pgbaton._lease_out(
    los bigint[], cut pgbaton.span, lease_token bigint, worker_id text, lease interval, at timestamptz
)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    with removed as (
        delete from pgbaton.span as s where s.lo = any (los) returning s.*
    ), picked as (
        select r.* from removed as r
        union all
        select (cut).* where (cut).lo is not null
    ), marked as (
        -- Neighbours that were enqueued one by one become one span; ids in a block of 64 keep it within bounds.
        select
            p.*,
            case
                when p.lo = p.hi and p.singleton_key is null then p.lo - row_number() over (
                    partition by p.lane_id, p.day, p.attempt, p.extra_attempts, p.run_at, p.started_at,
                        p.lo = p.hi and p.singleton_key is null
                    order by p.lo
                )
            end as run
        from picked as p
    )
    insert into pgbaton.span (
        lo, hi, position, key_position, lease_token, lease_until, claimed_at, started_at, run_at, changed_at, day,
        queue_id, lane_id, state, attempt, extra_attempts, ready, singleton_key, held_key, worker_id, policy
    )
    select
        min(m.lo), max(m.hi), min(m.position), min(m.key_position), _lease_out.lease_token,
        pgbaton._after(
            at, coalesce(_lease_out.lease, (select q.lease from pgbaton.queue as q where q.id = min(m.queue_id)))
        ),
        at, m.started_at, m.run_at, null, m.day, min(m.queue_id), m.lane_id, 'active',
        m.attempt + 1, m.extra_attempts, false, min(m.singleton_key), min(m.held_key),
        _lease_out.worker_id, min(m.policy)
    from marked as m
    group by
        m.lane_id, m.day, m.attempt, m.extra_attempts, m.run_at, m.started_at, m.run,
        case when m.run is null then m.lo else (m.lo - 1) / 64 end;
end;
$$;
comment on function pgbaton._lease_out(bigint[], pgbaton.span, bigint, text, interval, timestamptz) is
'Makes picked spans active under a lease (null: the queue''s), merging neighbours.';
