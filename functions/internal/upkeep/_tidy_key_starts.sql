create or replace function pgbaton._tidy_key_starts(at timestamptz)
returns void
language plpgsql volatile
as $$
declare
    v_limit record;
begin
    for v_limit in
        select l.queue_id, l.refill from pgbaton.queue_limit as l where l.kind = 'key_rate' order by l.queue_id
    loop
        -- Further ahead than it can be: the clock was set back.
        if pgbaton._let_start(v_limit.queue_id, at, at, pgbaton._after(at, v_limit.refill)) > 0 then
            perform pgbaton._wake_queues(array[v_limit.queue_id]);
        end if;
        delete from pgbaton.key_start as k
        where k.ctid = any (array(
            select o.ctid from pgbaton.key_start as o
            where o.queue_id = v_limit.queue_id and o.last_at <= pgbaton._after(at, -v_limit.refill)
            order by o.queue_id, o.last_at
            limit 100000
            for update skip locked
        ));
    end loop;
end;
$$;
comment on function pgbaton._tidy_key_starts(timestamptz) is
'Forgets the keys of which nothing has started for an interval of their rate, at most 100,000 a queue and call. Lets
jobs start that were put off by a clock which was set back since.';
