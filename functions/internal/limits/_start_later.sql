create or replace function pgbaton._start_later(lo bigint, queue_id integer, singleton_key text)
returns timestamptz
language plpgsql volatile
as $$
declare
    v_later timestamptz;
begin
    select max(pgbaton._opens_at(_start_later.queue_id, _start_later.singleton_key, l.size, l.refill, pgbaton._now()))
    into v_later
    from pgbaton.queue_limit as l
    where l.queue_id = _start_later.queue_id and l.kind in ('key_rate', 'key_burst');
    if v_later is not null then
        update only pgbaton.span as s set ready = false, run_at = v_later where s.lo = _start_later.lo;
        update pgbaton.key_start as k set put_off_until = v_later
        where k.ctid = any (array(
            select n.ctid from pgbaton.key_start as n
            where n.queue_id = _start_later.queue_id and n.singleton_key = _start_later.singleton_key
            order by n.queue_id desc, n.singleton_key desc, n.version desc
            limit 1
            for update skip locked
        ));
    end if;
    return v_later;
end;
$$;
comment on function pgbaton._start_later(bigint, integer, text) is
'Puts a claimable job, which a claim has locked and which holds its key, off until the rate of its key lets it start,
and returns that time; null when it may start now. Its place in the key and its attempts stay.';
