create or replace function pgbaton._lease(
    his bigint[], lone_his bigint[], cut pgbaton.span, worker_id text, lease_token bigint, at timestamptz,
    lease interval
)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_spans pgbaton.span[];
    v_merged pgbaton.span[];
begin
    if cardinality(lone_his) > 0 then
        with taken as (
            delete from pgbaton.ready_span as s where s.hi = any (lone_his)
            returning s.lo, s.position, s.day, s.queue_id, s.lane_id
        ), marked as (
            select t.*, t.lo - row_number() over (partition by t.lane_id order by t.lo) as run from taken as t
        ), leased as (
            insert into pgbaton.leased_span (
                lo, hi, position, lease_token, lease_until, claimed_at, day, queue_id, lane_id, state, attempt, ready,
                worker_id
            )
            select
                min(m.lo), max(m.lo), min(m.position) + (max(m.lo) - min(m.lo)), _lease.lease_token,
                pgbaton._after(
                    at, coalesce(_lease.lease, (select q.lease from pgbaton.queue as q where q.id = m.queue_id))
                ),
                at, m.day, m.queue_id, m.lane_id, 'active', 1, false, _lease.worker_id
            from marked as m
            -- Ids in a block of 64 keep a span within bounds.
            group by m.lane_id, m.queue_id, m.day, m.run, (m.lo - 1) / 64
            returning *
        )
        select array_agg(l::pgbaton.span) into v_merged from leased as l;
        if cardinality(his) = 0 and cut.lo is null then
            return v_merged;
        end if;
    end if;
    with taken as (
        delete from pgbaton.ready_span as s where s.hi = any (his) returning s.*
    ), leased as (
        insert into pgbaton.leased_span (
            lo, hi, position, lease_token, lease_until, claimed_at, started_at, run_at, day, queue_id, lane_id, state,
            attempt, extra_attempts, ready, singleton_key, worker_id
        )
        select
            s.lo, s.hi, s.position, _lease.lease_token,
            pgbaton._after(
                at, coalesce(_lease.lease, (select q.lease from pgbaton.queue as q where q.id = s.queue_id))
            ),
            at, s.started_at, s.run_at, s.day, s.queue_id, s.lane_id, 'active', s.attempt + 1, s.extra_attempts, false,
            s.singleton_key, _lease.worker_id
        from (
            select t.* from taken as t
            union all
            select c.* from unnest(array[cut]) as c where c.lo is not null
        ) as s
        returning *
    )
    select array_agg(l::pgbaton.span) into v_spans from leased as l;
    return v_merged || v_spans;
end;
$$;
comment on function pgbaton._lease(bigint[], bigint[], pgbaton.span, text, bigint, timestamptz, interval) is
'Moves spans that _pick_spans locked from ready_span to leased_span, and with them what it cut off another one. Of
lone_his, those of one lane and day that were enqueued one after the other become one. Returns them as they are now.
lease: null is that of the queue.';
