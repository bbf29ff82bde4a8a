create or replace function pgbaton._add_edges(
    child_id bigint, parent_ids bigint[], on_failed text, run_at timestamptz, own_ids bigint[] default '{}'
)
returns void
language plpgsql volatile
as $$
declare
    v_child constant pgbaton.span := pgbaton._live_span(child_id);
    v_edges constant integer := cardinality(parent_ids);
    v_queue_ids integer[];
    v_parent_ids bigint[];
begin
    -- Not undone by a rollback, so it is drawn once; who does so at the same time does no harm.
    if pg_sequence_last_value('pgbaton.edge_seq') is null then
        perform nextval('pgbaton.edge_seq');
    end if;
    insert into pgbaton.job_edge (child_id, parent_id, day, ordinal)
    select _add_edges.child_id, p.id, v_child.day, p.ordinal - 1
    from unnest(parent_ids) with ordinality as p (id, ordinal);
    with added as (
        insert into pgbaton.job_wait (child_id, parent_id, run_at, queue_id, level, no, ordinal, edges, on_failed)
        select
            _add_edges.child_id, case when g.level = 0 then parent_ids[g.last + 1] end, _add_edges.run_at,
            v_child.queue_id,
            g.level, g.no, case when g.level = 0 then g.last end, v_edges, _add_edges.on_failed
        from pgbaton._groups_of(v_edges) as g
        returning queue_id, parent_id
    )
    select array_agg(a.queue_id), array_agg(a.parent_id) into v_queue_ids, v_parent_ids
    from added as a
    -- Of what this very call enqueued nobody else knows yet.
    where a.parent_id is not null and a.parent_id <> all (own_ids);
    -- Whether they have ended, or are ending now in a transaction that cannot see this one, is told by the next claim.
    perform pgbaton._leave_parents(v_queue_ids, v_parent_ids);
end;
$$;
comment on function pgbaton._add_edges(bigint, bigint[], text, timestamptz, bigint[]) is
'Notes what a job waits for, that was enqueued with a run_at of infinity; run_at: when it may run then. own_ids: jobs
that the same call enqueued. The parents are not locked and nobody waits: the next claim looks at them.';
