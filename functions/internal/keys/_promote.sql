create or replace function pgbaton._promote(
    queue_ids integer[], singleton_keys text[], places bigint[], may_be_held boolean
)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_sleepers_from constant bigint := pgbaton._sleepers_from();
    v_is_fresh constant boolean := pgbaton._is_read_committed();
    v_now constant timestamptz := pgbaton._now();
    v_promoted pgbaton.span[];
    v_los bigint[];  -- the spans of several jobs whose first one got it
    v_his bigint[];
begin
    with heads as materialized (
        select h.lo
        from unnest(queue_ids, singleton_keys, places) as f (queue_id, singleton_key, place)
        cross join lateral (
            select s.lo, s.policy, s.xmin as writer from only pgbaton.span as s
            where s.queue_id = f.queue_id and s.singleton_key = f.singleton_key and s.state = 'waiting'
                and s.key_position >= f.place
            order by s.queue_id, s.singleton_key, s.key_position
            limit 1
        ) as h
        -- Under an older snapshot a job of our own may have others in front of it that are not seen.
        where (v_is_fresh or not pgbaton._may_be_own(h.writer))
        and (h.policy is distinct from 'singleton' or not exists (
            select from pgbaton._room_of_key(f.queue_id, f.singleton_key) as r (room) where r.room <= 0
        ))
        -- In one statement, so that whoever promoted the same key meanwhile also changed the head we saw.
        and (not may_be_held or not exists (
            select from only pgbaton.span as s
            where s.queue_id = f.queue_id and s.singleton_key = f.singleton_key
                and s.slot is not null and s.held_key is not null
            offset 0
        ))
    ), locked as materialized (
        -- The head or none: a head that is locked leaves its key to a baton_release row.
        -- The state is looked at outside, or all waiting jobs would be read through span_waiting_idx.
        select s.lo, s.hi, s.state from only pgbaton.span as s
        where s.lo = any (array(select h.lo from heads as h))
        order by s.lo
        for update skip locked
    ), promoted as (
        update only pgbaton.span as s
        -- Not pending when it has run: a failed job that was retried after its key had gone on without it.
        set hi = s.lo,
            state = case when s.claimed_at is null then 'pending'::pgbaton.job_state else 'retry' end,
            ready = s.run_at is null or s.run_at <= v_now,
            held_key = s.singleton_key,
            slot = pgbaton._slot(
                s.policy, case when s.claimed_at is null then 'pending'::pgbaton.job_state else 'retry' end,
                s.claimed_at, s.attempt, s.singleton_key, s.lo
            ),
            position = nextval('pgbaton.position_seq')
        -- Not a join: where the table seems to be empty it would read all of the index, dead entries included.
        where s.lo = any (array(select l.lo from locked as l where l.state = 'waiting'))
        returning s.*
    )
    select
        (select coalesce(array_agg(p::pgbaton.span), '{}') from promoted as p),
        array_agg(l.lo) filter (where l.state = 'waiting' and l.hi > l.lo),
        array_agg(l.hi) filter (where l.state = 'waiting' and l.hi > l.lo)
    into v_promoted, v_los, v_his
    from locked as l;
    if v_los is not null then
        -- Those behind it in its span wait on: the next seven in spans of one, so that not each of them splits a span.
        insert into pgbaton.span (
            lo, hi, position, key_position, run_at, day, queue_id, lane_id, state, ready, singleton_key, policy
        )
        select
            n.lo, n.hi, p.key_position + (n.hi - p.lo), p.key_position + (n.lo - p.lo), p.run_at, p.day, p.queue_id,
            p.lane_id, 'waiting', false, p.singleton_key, p.policy
        from unnest(v_promoted) as p
        inner join unnest(v_los, v_his) as r (lo, hi) on r.lo = p.lo
        cross join lateral (
            select g.lo, case when g.lo < p.lo + 8 then g.lo else r.hi end as hi
            from generate_series(p.lo + 1, least(p.lo + 8, r.hi)) as g (lo)
        ) as n;
    end if;
    if cardinality(v_promoted) > 0 and exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from) then
        perform pgbaton._wake(array(select distinct p.lane_id from unnest(v_promoted) as p where p.ready));
    end if;
    return v_promoted;
end;
$$;
comment on function pgbaton._promote(integer[], text[], bigint[], boolean) is
'Gives each key''s first waiting job from its place on the baton, without waiting for locks, and returns those
that got it, each a span of one. may_be_held is false when the caller itself just let the baton go.';
