create or replace function pgbaton._lease_losses_to_merge()
returns text[]
language plpgsql stable
as $$
begin
    return array(
        select m.queue_id::text from pgbaton.lease_loss as m
        group by m.queue_id
        having count(*) > 100 or not exists (select from pgbaton.queue as q where q.id = m.queue_id)
    );
end;
$$;
comment on function pgbaton._lease_losses_to_merge() is
'The queues with many rows in lease_loss, and those that were dropped.';
