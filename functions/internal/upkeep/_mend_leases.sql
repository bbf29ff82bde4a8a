create or replace function pgbaton._mend_leases(at timestamptz, ahead interval)
returns void
language plpgsql volatile
as $$
declare
    v_limit constant timestamptz := at + interval '1 minute';
    v_spans pgbaton.span[];
begin
    -- Whoever sent no heartbeat is taken for gone.
    with held as materialized (
        select s.lo, s.hi from pgbaton.held_span as s where s.lease_until > at and s.claimed_at > v_limit
    ), lost as materialized (
        select s.lo, s.hi from pgbaton.span as s
        where s.lo = any (array(select h.lo from held as h)) and s.hi = any (array(select h.hi from held as h))
            and s.lease_until > at and not exists (
                select from pgbaton.worker as w
                where w.worker_id = s.worker_id and w.heartbeat_at > at - interval '2 minutes'
            )
        order by s.lo
        for update skip locked
    ), removed as (
        delete from pgbaton.span as s
        where s.lo = any (array(select l.lo from lost as l)) and s.hi = any (array(select l.hi from lost as l))
        returning s.*
    )
    select array_agg(r::pgbaton.span) into v_spans from removed as r;
    perform pgbaton._recover(v_spans, 'the clock was set back');
    -- The others get their lease once more from now on.
    with held as materialized (
        select s.lo, s.hi from pgbaton.held_span as s where s.lease_until > at and s.claimed_at > v_limit
    ), locked as materialized (
        select s.lo, s.hi from pgbaton.span as s
        where s.lo = any (array(select h.lo from held as h)) and s.hi = any (array(select h.hi from held as h))
            and s.lease_until > at and s.claimed_at > v_limit
        order by s.lo
        for update skip locked
    )
    update pgbaton.span as s
    set lease_until = at + (s.lease_until - s.claimed_at), claimed_at = at, started_at = least(s.started_at, at)
    where s.lo = any (array(select l.lo from locked as l)) and s.hi = any (array(select l.hi from locked as l));
    -- Claimed before and extended meanwhile: nothing tells that from a long lease. One that goes on for longer than the
    -- clock was ahead is shortened by that, and has its queue's lease at least.
    with held as materialized (
        select s.lo, s.hi from pgbaton.held_span as s
        where ahead is not null and s.lease_until > at + greatest(
            ahead, (select q.lease from pgbaton.queue as q where q.id = s.queue_id offset 0)
        )
    ), locked as materialized (
        select s.lo, s.hi from pgbaton.span as s
        where s.lo = any (array(select h.lo from held as h)) and s.hi = any (array(select h.hi from held as h))
            and s.lease_until > at + ahead
        order by s.lo
        for update skip locked
    )
    update pgbaton.span as s
    set lease_until = greatest(
        s.lease_until - ahead, at + (select q.lease from pgbaton.queue as q where q.id = s.queue_id)
    )
    where s.lo = any (array(select l.lo from locked as l)) and s.hi = any (array(select l.hi from locked as l));
end;
$$;
comment on function pgbaton._mend_leases(timestamptz, interval) is
'Leases that were given by a clock that was ahead: jobs of workers without a recent heartbeat are taken back, others
have a lease from now on. ahead: by how much, null when those that were extended were seen to.';
