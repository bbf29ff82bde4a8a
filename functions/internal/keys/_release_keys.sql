create or replace function pgbaton._release_keys(queue_ids integer[], singleton_keys text[])
returns void
language plpgsql volatile
as $$
begin
    if queue_ids is null then
        return;
    end if;
    insert into pgbaton.baton_release (queue_id, singleton_key)
    select u.queue_id, u.singleton_key from unnest(queue_ids, singleton_keys) as u (queue_id, singleton_key);
    perform pgbaton._wake_queues(queue_ids);
end;
$$;
comment on function pgbaton._release_keys(integer[], text[]) is
'Leaves the batons of these keys (null: none) to the next claim, and wakes who may make it.';
