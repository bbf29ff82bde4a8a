create or replace function pgbaton._put_in_order(queue pgbaton.queue)
returns void
language plpgsql volatile
as $$
begin
    perform pgbaton._lock_spans_of(queue.id);
    -- All that it has: also those without a key are looked for in span from now on.
    with claimable as (
        delete from pgbaton.ready_span as s where s.queue_id = queue.id returning s.*
    ), leased as (
        delete from pgbaton.leased_span as s where s.queue_id = queue.id returning s.*
    )
    insert into pgbaton.span select c.* from claimable as c union all select l.* from leased as l;
    with ranked as (
        select
            s.lo, s.ticket, s.singleton_key, s.is_passed_over,
            row_number() over (partition by s.singleton_key order by s.is_passed_over, s.ticket) as place
        from (
            -- A failed job holds its key only where it blocks.
            select
                i.*, i.state = 'failed' and queue.on_exhausted = 'continue' as is_passed_over,
                nextval('pgbaton.position_seq') as ticket
            from (
                select w.lo, w.singleton_key, w.state
                from only pgbaton.span as w
                inner join pgbaton.job as j on j.id = w.lo and j.day = w.day
                where w.queue_id = queue.id and w.singleton_key is not null
                -- Who runs holds the key; then the order of enqueue.
                order by w.state not in ('active', 'cancelling'), j.created_at, w.lo
                offset 0
            ) as i
            offset 0
        ) as s
    )
    update only pgbaton.span as s
    set key_position = r.ticket,
        held_key = r.held_key,
        slot = pgbaton._slot(null, s.state, s.claimed_at, s.attempt, r.held_key, s.lo),
        ready = s.ready and r.place = 1,
        lease_token = case when r.place = 1 or s.state in ('active', 'cancelling') then s.lease_token end,
        state = case
            when r.place > 1 and s.state in ('pending', 'retry', 'unknown_retry') then 'waiting' else s.state
        end
    from (
        select k.*, case when k.place = 1 and not k.is_passed_over then k.singleton_key end as held_key from ranked as k
    ) as r
    where s.lo = r.lo;
end;
$$;
comment on function pgbaton._put_in_order(pgbaton.queue) is
'Puts the keyed jobs of a queue in line per key, in the order of their enqueue, and gives each key to one of
them.';
