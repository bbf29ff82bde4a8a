create or replace function pgbaton._set_aside(los bigint[])
returns void
language plpgsql volatile
as $$
begin
    perform pgbaton._set_paused_aside(los);
    -- A key of several jobs, which no call should bring about: one keeps it, the one that runs or else the first.
    with broken as materialized (
        select s.lo, s.queue_id, s.held_key, (
            select o.lo from only pgbaton.span as o
            where o.queue_id = s.queue_id and o.singleton_key = s.held_key and o.slot is not null
                and o.held_key is not null
            order by o.slot <> 0, o.key_position, o.lo
            limit 1
        ) as keeper
        from only pgbaton.span as s
        where s.lo = any (los) and coalesce(s.ready, false) and s.held_key is not null
    ), surplus as (
        select b.lo from broken as b where b.lo <> b.keeper
        union
        select o.lo from broken as b
        inner join only pgbaton.span as o
            on o.queue_id = b.queue_id and o.singleton_key = b.held_key and o.slot is not null and o.lo <> b.keeper
        where o.held_key is not null
    ), chosen as materialized (
        select o.lo, o.queue_id, o.held_key from only pgbaton.span as o
        where o.lo = any (array(select u.lo from surplus as u)) and o.state in ('pending', 'retry', 'unknown_retry')
        for update skip locked
    ), demoted as (
        update only pgbaton.span as s
        set held_key = null, ready = false, state = 'waiting', lease_token = null, slot = pgbaton._slot(
                s.policy, 'waiting', s.claimed_at, s.attempt, null, s.lo
            )
        from chosen as c where s.lo = c.lo
    ), queued as (
        insert into pgbaton.baton_release (queue_id, singleton_key)
        select c.queue_id, c.held_key from chosen as c
    )
    insert into pgbaton.audit (at, actor, action, queue, job_id, singleton_key, reason)
    select
        pgbaton._now(), pgbaton._actor(), 'set_aside', q.name, c.lo, c.held_key,
        'the key had several jobs at once; this one waits again'
    from chosen as c
    inner join pgbaton.queue as q on q.id = c.queue_id;
end;
$$;
comment on function pgbaton._set_aside(bigint[]) is
'What a claim picked and may not hand out: a job of a paused key becomes claimable when the key is resumed; of a key
that several jobs hold, which should not be, all but one wait again, and the audit says so.';
