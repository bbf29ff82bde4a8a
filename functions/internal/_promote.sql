create or replace function pgbaton._promote(
    queue_ids integer[], singleton_keys text[], places bigint[], may_be_held boolean
)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_has_paused constant boolean := exists (select from pgbaton.paused_key);
    v_now constant timestamptz := pgbaton._now();
    v_promoted pgbaton.span[];
begin
    with heads as materialized (
        select h.lo
        from unnest(queue_ids, singleton_keys, places) as f (queue_id, singleton_key, place)
        cross join lateral (
            select s.lo from pgbaton.span as s
            where s.queue_id = f.queue_id and s.singleton_key = f.singleton_key and s.state = 'waiting'
                and s.key_position >= f.place
            order by s.queue_id, s.singleton_key, s.key_position
            limit 1
        ) as h
        -- In one statement, so that whoever promoted the same key meanwhile also changed the head we saw.
        where not may_be_held or not exists (
            select from pgbaton.span as s
            where s.queue_id = f.queue_id and s.held_key = f.singleton_key and s.state <> 'pending'
            offset 0
        ) and not exists (
            select from pgbaton.span as s
            where s.queue_id = f.queue_id and s.held_key = f.singleton_key and s.state = 'pending'
            offset 0
        )
    ), locked as materialized (
        -- The head or none: a head that is locked leaves its key to a baton_release row.
        -- The state is looked at outside, or all waiting jobs would be read through span_waiting_idx.
        select s.lo, s.state from pgbaton.span as s
        where s.lo = any (array(select h.lo from heads as h))
        order by s.lo
        for update skip locked
    ), promoted as (
        update pgbaton.span as s
        -- Not pending when it has run: a failed job that was retried after its key had gone on without it.
        set state = case when s.claimed_at is null then 'pending'::pgbaton.job_state else 'retry' end,
            ready = (s.run_at is null or s.run_at <= v_now) and not (v_has_paused and exists (
                select from pgbaton.paused_key as k
                where k.queue_id = s.queue_id and k.singleton_key = s.singleton_key
            )),
            held_key = s.singleton_key, position = nextval('pgbaton.position_seq')
        -- Not a join: where the table seems to be empty it would read all of the index, dead entries included.
        where s.lo = any (array(select l.lo from locked as l where l.state = 'waiting'))
        returning s.*
    )
    select coalesce(array_agg(p::pgbaton.span), '{}') into v_promoted from promoted as p;
    if cardinality(v_promoted) > 0 and exists (select from pgbaton.sleeper) then
        perform pgbaton._wake(array(select distinct p.lane_id from unnest(v_promoted) as p where p.ready));
    end if;
    return v_promoted;
end;
$$;
comment on function pgbaton._promote(integer[], text[], bigint[], boolean) is
'Gives each key''s first waiting job from its place on the baton, without waiting for locks, and returns those
that got it. may_be_held is false when the caller itself just let the baton go.';
