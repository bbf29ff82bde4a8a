create or replace function pgbaton._wake_limited(spans pgbaton.span[])
returns void
language plpgsql volatile
as $$
declare
    v_sleepers_from bigint;
    v_queue record;
begin
    if not exists (
        select from unnest(spans) as s
        cross join lateral (select q.is_limited from pgbaton.queue as q where q.id = s.queue_id offset 0) as q
        where q.is_limited
    ) then
        return;
    end if;
    v_sleepers_from := pgbaton._sleepers_from();
    -- For transactions that wrote no span: what _is_seen_by_all looks for.
    lock table pgbaton.span in row exclusive mode;
    if not exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from) then
        return;
    end if;
    for v_queue in
        select q.id, q.policy, sum(s.hi - s.lo + 1)::bigint as places
        from unnest(spans) as s
        inner join pgbaton.queue as q on q.id = s.queue_id
        where q.is_limited
        group by q.id
        order by q.id
    loop
        perform pgbaton._wake(
            (pgbaton._heads_of(v_queue.id, v_queue.policy, 100)).lane_ids, max_sleepers => v_queue.places + 1
        );
    end loop;
end;
$$;
comment on function pgbaton._wake_limited(pgbaton.span[]) is
'When jobs end that were with workers: notifies workers that sleep on claimable jobs of the same queues, where it has
limits, one more than there are places free now. To be called in a statement after the one that ended them.';
