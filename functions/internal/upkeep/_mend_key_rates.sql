create or replace function pgbaton._mend_key_rates(at timestamptz, queue_ids integer[])
returns void
language plpgsql volatile
as $$
declare
    v_limit record;
begin
    for v_limit in
        select l.queue_id, l.refill from pgbaton.queue_limit as l
        where l.kind = 'key_rate' and l.queue_id = any (queue_ids)
        order by l.queue_id
    loop
        -- Further ahead than it can be: the clock was set back.
        if pgbaton._let_start(v_limit.queue_id, at, at, pgbaton._after(at, v_limit.refill)) > 0 then
            perform pgbaton._wake_queues(array[v_limit.queue_id]);
        end if;
    end loop;
end;
$$;
comment on function pgbaton._mend_key_rates(timestamptz, integer[]) is
'Lets jobs of these queues start that the rate of their key put off by a clock which was set back since.';
