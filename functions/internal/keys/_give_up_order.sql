create or replace function pgbaton._give_up_order(queue pgbaton.queue, force boolean)
returns void
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_waiting bigint;
    v_runs pgbaton.span[];
begin
    perform pgbaton._lock_spans_of(queue.id);
    select coalesce(sum(s.hi - s.lo + 1), 0) into v_waiting
    from only pgbaton.span as s where s.queue_id = queue.id and s.state = 'waiting';
    if v_waiting > 0 and not force then
        raise exception using
            errcode = 'PB008',
            message = format('%s jobs of queue "%s" wait for another one of their key', v_waiting, queue.name),
            hint = 'Let them run first, or pass force => true to let them run at once.';
    end if;
    delete from pgbaton.paused_key as k where k.queue_id = queue.id;
    delete from pgbaton.baton_release as r where r.queue_id = queue.id and r.parent_id is null;
    -- Without order a job with a key has a span of its own.
    with removed as (
        delete from only pgbaton.span as s
        where s.queue_id = queue.id and s.state = 'waiting' and s.hi > s.lo
        returning s.*
    )
    select array_agg(r::pgbaton.span) into v_runs from removed as r;
    perform pgbaton._put_back(r::pgbaton.span, r.lo, r.hi, true) from unnest(v_runs) as r;
    with tickets as (
        select w.lo, nextval('pgbaton.position_seq') as position
        from (
            select s.lo from only pgbaton.span as s
            where s.queue_id = queue.id and s.singleton_key is not null
            order by s.key_position
            offset 0
        ) as w
    )
    update only pgbaton.span as s
    set held_key = null, key_position = null, slot = null,
        state = case
            when s.state <> 'waiting' then s.state
            when s.claimed_at is null then 'pending'
            else 'retry'
        end,
        ready = s.state in ('waiting', 'pending', 'retry', 'unknown_retry') and coalesce(s.run_at <= v_now, true),
        position = case when s.state = 'waiting' then t.position else s.position end
    from tickets as t
    where s.lo = t.lo;
    with removed as (
        delete from only pgbaton.span as s where s.queue_id = queue.id and s.ready returning s.*
    )
    insert into pgbaton.ready_span select r.* from removed as r;
    perform pgbaton._wake_lanes_of(queue.id);
end;
$$;
comment on function pgbaton._give_up_order(pgbaton.queue, boolean) is
'Makes all waiting jobs of a FIFO queue claimable. Raises PB008 when there are any and force is false.';
