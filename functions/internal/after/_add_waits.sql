create or replace function pgbaton._add_waits(
    queue_id integer, child_ids bigint[], waits jsonb[], row_nos bigint[] default null
)
returns void
language plpgsql volatile
as $$
declare
    v_parent_ids bigint[];
    v_queue_ids integer[];
begin
    if waits is null then
        return;
    end if;
    perform pgbaton._require_parents_of(waits, row_nos, child_ids);
    -- As in _add_edges.
    if pg_sequence_last_value('pgbaton.edge_seq') is null then
        perform nextval('pgbaton.edge_seq');
    end if;
    with waiting as materialized (
        select u.child_id, w.after, w.on_failed, w.run_at, s.day, cardinality(w.after) as edges
        from unnest(child_ids, waits) as u (child_id, wait)
        cross join lateral jsonb_to_record(u.wait) as w (after bigint[], on_failed text, run_at timestamptz)
        cross join lateral (
            select n.day from pgbaton.span as n where pgbaton._covers(n.lo, n.hi, u.child_id)
            offset 0
        ) as s
        where u.child_id is not null and u.wait is not null
    ), edged as (
        insert into pgbaton.job_edge (child_id, parent_id, day, ordinal)
        select w.child_id, p.id, w.day, p.ordinal - 1
        from waiting as w
        cross join lateral unnest(w.after) with ordinality as p (id, ordinal)
    ), added as (
        insert into pgbaton.job_wait (child_id, parent_id, run_at, queue_id, level, no, ordinal, edges, on_failed)
        select
            w.child_id, case when g.level = 0 then w.after[g.last + 1] end, w.run_at, _add_waits.queue_id, g.level,
            g.no, case when g.level = 0 then g.last end, w.edges, w.on_failed
        from waiting as w
        cross join lateral pgbaton._groups_of(w.edges) as g
        returning parent_id
    )
    select array_agg(_add_waits.queue_id), array_agg(p.parent_id) into v_queue_ids, v_parent_ids
    from (select distinct a.parent_id from added as a where a.parent_id is not null) as p;
    -- The next claim looks whether they have ended.
    perform pgbaton._leave_parents(v_queue_ids, v_parent_ids);
end;
$$;
comment on function pgbaton._add_waits(integer, bigint[], jsonb[], bigint[]) is
'What _add_edges does, for the rows of a statement or chunk: child_ids are the jobs that they became, null for none,
waits what _waits_of_rows says about them, null for nothing. Raises what _require_parents_of raises.';
