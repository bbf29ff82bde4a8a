create or replace function pgbaton._leave_parents(queue_ids integer[], parent_ids bigint[])
returns void
language plpgsql volatile
as $$
begin
    if queue_ids is null then
        return;
    end if;
    insert into pgbaton.baton_release (queue_id, singleton_key, parent_id)
    select u.queue_id, '', u.parent_id from unnest(queue_ids, parent_ids) as u (queue_id, parent_id);
    perform pgbaton._wake_queues(queue_ids);
end;
$$;
comment on function pgbaton._leave_parents(integer[], bigint[]) is
'Leaves it to the next claim to look at jobs for which others wait (null: none), and wakes who may make it: those that
sleep on the queues of the children.';
