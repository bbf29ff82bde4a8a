create or replace function pgbaton._fit_keys(queue_id integer)
returns void
language plpgsql volatile
as $$
declare
    v_los bigint[];
begin
    -- Who runs has stepped aside where there is a limit.
    v_los := array(
        select s.lo from only pgbaton.span as s
        inner join pgbaton.queue_limit as l on l.queue_id = s.queue_id and l.kind = 'key'
        where s.queue_id = _fit_keys.queue_id and s.held_key is not null and s.state in ('active', 'cancelling')
    );
    if cardinality(v_los) > 0 then
        perform pgbaton._step_aside(v_los);
    end if;
    -- Who has the baton of a key that is full now waits again.
    update only pgbaton.span as s
    set held_key = null, slot = null, ready = false, lease_token = null, state = 'waiting'
    where s.queue_id = _fit_keys.queue_id and s.held_key is not null and s.state not in ('active', 'cancelling')
        and pgbaton._is_full(s.queue_id, s.singleton_key);
    -- Whether more may run of the others, the next claim looks.
    perform pgbaton._release_keys(array_agg(k.queue_id), array_agg(k.singleton_key))
    from (
        select distinct s.queue_id, s.singleton_key from only pgbaton.span as s
        where s.queue_id = _fit_keys.queue_id and s.slot < -100
    ) as k;
end;
$$;
comment on function pgbaton._fit_keys(integer) is
'When the number of jobs that may run of a key has changed, in a queue all of whose spans are locked: makes who holds
the keys fit it.';
