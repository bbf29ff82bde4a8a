create or replace function pgbaton._tell_children(spans pgbaton.span[], are_completed boolean)
returns void
language plpgsql volatile
as $$
declare
    v_queue_ids integer[];
    v_parent_ids bigint[];
begin
    if not pgbaton._is_read_committed() then
        -- Who began to wait since the snapshot is not seen.
        select array_agg(s.queue_id), array_agg(g.id) into v_queue_ids, v_parent_ids
        from unnest(spans) as s
        cross join lateral generate_series(s.lo, s.hi) as g (id);
        perform pgbaton._wake_queues(null);  -- of whatever queue they are
    elsif cardinality(spans) = 1 and not (case
        when are_completed then exists (
            select from pgbaton.job_wait as n where n.parent_id >= spans[1].lo and n.parent_id <= spans[1].hi
        )
        else exists (
            select from pgbaton.job_edge as e where e.parent_id >= spans[1].lo and e.parent_id <= spans[1].hi
        )
    end) then
        return;  -- as it is nearly always: one look into an index
    elsif are_completed then
        select array_agg(w.queue_id), array_agg(w.parent_id) into v_queue_ids, v_parent_ids
        from unnest(spans) as s
        cross join lateral generate_series(s.lo, s.hi) as g (id)
        cross join lateral (
            select n.queue_id, n.parent_id from pgbaton.job_wait as n where n.parent_id = g.id limit 1
        ) as w
        where exists (select from pgbaton.job_wait as n where n.parent_id >= s.lo and n.parent_id <= s.hi offset 0);
    else
        -- Also who watches another one of its parents first.
        select array_agg(w.queue_id), array_agg(w.parent_id) into v_queue_ids, v_parent_ids
        from unnest(spans) as s
        cross join lateral generate_series(s.lo, s.hi) as g (id)
        cross join lateral (
            select n.queue_id, e.parent_id from pgbaton.job_edge as e
            inner join pgbaton.job_wait as n on n.child_id = e.child_id and n.level = 0 and n.no = e.ordinal / 16
            where e.parent_id = g.id
            limit 1
        ) as w;
    end if;
    perform pgbaton._leave_parents(v_queue_ids, v_parent_ids);
end;
$$;
comment on function pgbaton._tell_children(pgbaton.span[], boolean) is
'For jobs that have just ended: leaves those for which others wait to the next claim, as it does with batons, so that
who ends a job locks no other one and waits for nobody. To be called in a statement after the one that ended them.';
