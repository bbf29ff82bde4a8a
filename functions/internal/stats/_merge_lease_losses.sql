create or replace function pgbaton._merge_lease_losses()
returns void
language plpgsql volatile
as $$
begin
    with merged as (
        delete from pgbaton.lease_loss as l
        where l.queue_id = any (array(
            select m.queue_id from pgbaton.lease_loss as m
            group by m.queue_id
            having count(*) > 100 or not exists (select from pgbaton.queue as q where q.id = m.queue_id)
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
comment on function pgbaton._merge_lease_losses() is
'Puts the rows of lease_loss together, one for each queue that has many, and forgets queues that were dropped. In
one session at a time: run_maintenance has the lock.';
