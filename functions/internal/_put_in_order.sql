create or replace function pgbaton._put_in_order(queue pgbaton.queue)
returns void
language plpgsql volatile
as $$
begin
    perform from pgbaton.span as s
    where s.queue_id = queue.id and s.singleton_key is not null
    order by s.lo
    for update;
    with ranked as (
        select
            s.lo, s.ticket,
            row_number() over (
                partition by s.singleton_key
                -- A failed job holds its key only where it blocks.
                order by s.state = 'failed' and queue.on_exhausted = 'continue', s.ticket
            ) as place
        from (
            select i.*, nextval('pgbaton.position_seq') as ticket
            from (
                select w.lo, w.singleton_key, w.state
                from pgbaton.span as w
                inner join pgbaton.job as j on j.id = w.lo and j.day = w.day
                where w.queue_id = queue.id and w.singleton_key is not null
                -- Who runs holds the key; then the order of enqueue.
                order by w.state not in ('active', 'cancelling'), j.created_at, w.lo
                offset 0
            ) as i
            offset 0
        ) as s
    )
    update pgbaton.span as s
    set key_position = r.ticket,
        held_key = case
            when r.place = 1 and not (s.state = 'failed' and queue.on_exhausted = 'continue') then s.singleton_key
        end,
        slot = case
            when r.place = 1 and not (s.state = 'failed' and queue.on_exhausted = 'continue')
                then pgbaton._slot(null, s.state, s.claimed_at, s.attempt, s.singleton_key, s.lo)
        end,
        ready = s.ready and r.place = 1,
        state = case
            when r.place > 1 and s.state in ('pending', 'retry', 'unknown_retry') then 'waiting' else s.state
        end
    from ranked as r
    where s.lo = r.lo;
end;
$$;
comment on function pgbaton._put_in_order(pgbaton.queue) is
'Puts the keyed jobs of a queue in line per key, in the order of their enqueue, and gives each key to one of
them.';
