create or replace function pgbaton._merge_lease_losses(queue_ids integer[])
returns void
language plpgsql volatile
as $$
begin
    with merged as (
        delete from pgbaton.lease_loss as l
        where l.ctid = any (array(
            select o.ctid from pgbaton.lease_loss as o where o.queue_id = any (queue_ids) for update skip locked
        ))
        returning l.queue_id, l.jobs
    )
    insert into pgbaton.lease_loss (queue_id, jobs)
    select m.queue_id, sum(m.jobs)
    from merged as m
    inner join pgbaton.queue as q on q.id = m.queue_id
    group by m.queue_id;
end;
$$;
comment on function pgbaton._merge_lease_losses(integer[]) is
'Puts the rows of lease_loss of these queues together, one for each, and forgets queues that were dropped. In
one session at a time: run_maintenance has the lock.';
