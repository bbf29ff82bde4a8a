create or replace function pgbaton._go_on(queue_ids integer[])
returns setof integer
language plpgsql volatile
as $$
declare
    v_id integer;
begin
    for v_id in
        select q.id from pgbaton.queue as q
        where q.id = any (queue_ids) and q.policy = 'fifo' and q.on_exhausted = 'continue'
        order by q.id
    loop
        perform pgbaton._let_failed_go(array(
            select s.lo from only pgbaton.span as s
            where s.lo = any (array(select h.lo from pgbaton._failed_holders(v_id) as h (lo)))
            order by s.lo
            limit 1000
            for update skip locked
        ));
        if exists (select from pgbaton._failed_holders(v_id)) then
            return next v_id;
        end if;
    end loop;
end;
$$;
comment on function pgbaton._go_on(integer[]) is
'Has the failed jobs of those queues let go of their keys in which they do not block (any more): at most 1000 of each,
and none that somebody else has locked. Returns the queues in which some are left.';
