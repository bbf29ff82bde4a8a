create or replace function pgbaton._wake_limited(queue_ids integer[], places bigint)
returns void
language plpgsql volatile
as $$
declare
    v_sleepers_from bigint;
    v_queue record;
begin
    if not exists (select from pgbaton.queue as q where q.id = any (queue_ids) and q.is_limited) then
        return;
    end if;
    v_sleepers_from := pgbaton._sleepers_from();
    -- For transactions that wrote no span: what _is_seen_by_all looks for.
    lock table pgbaton.span in row exclusive mode;
    if not exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from) then
        return;
    end if;
    for v_queue in
        select q.id, q.policy from pgbaton.queue as q where q.id = any (queue_ids) and q.is_limited order by q.id
    loop
        continue when (pgbaton._open_queues(array[v_queue.id], array[v_queue.id])).open_ids = '{}';
        perform pgbaton._wake(
            (pgbaton._heads_of(v_queue.id, v_queue.policy, 100)).lane_ids, max_sleepers => places + 1
        );
    end loop;
end;
$$;
comment on function pgbaton._wake_limited(integer[], bigint) is
'When so many jobs of these queues have ended that were with workers: notifies workers that sleep on claimable jobs of
those that have limits and let a further job start, one more than there are places. To be called in a statement after
the one that ended them.';
