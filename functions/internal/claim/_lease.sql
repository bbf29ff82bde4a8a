create or replace function pgbaton._lease(
    his bigint[], cut pgbaton.span, is_merging boolean, worker_id text, lease_token bigint, at timestamptz, lease interval
)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_spans pgbaton.span[];
begin
    if cardinality(his) > 0 then
        with taken as (
            delete from pgbaton.ready_span as s where s.hi = any (his) returning s.*
        )
        select array_agg(t::pgbaton.span) into v_spans from taken as t;
    end if;
    if cut.lo is not null then
        v_spans := v_spans || cut;
    end if;
    if is_merging then
        v_spans := pgbaton._merged(v_spans);
    end if;
    with leased as (
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
        from unnest(v_spans) as s
        returning *
    )
    select array_agg(l::pgbaton.span) into v_spans from leased as l;
    return v_spans;
end;
$$;
comment on function pgbaton._lease(bigint[], pgbaton.span, boolean, text, bigint, timestamptz, interval) is
'Moves spans that _pick_spans locked from ready_span to leased_span, and with them what it cut off another one. is_merging:
neighbours become one. Returns them as they are now. lease: null is that of the queue.';
