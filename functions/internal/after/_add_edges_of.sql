create or replace function pgbaton._add_edges_of(waits jsonb[], outcomes pgbaton.enqueue_outcome[])
returns void
language plpgsql volatile
as $$
declare
    v_own_ids constant bigint[] := array(select o.job_id from unnest(outcomes) as o where o.outcome = 'enqueued');
    v_wait record;
    v_refused integer;
    v_parent_ids bigint[];
begin
    for v_wait in
        select o.job_id, o.ordinal, w.on_failed, w.run_at, w.after, w.after_ordinals
        from unnest(outcomes) as o
        cross join lateral jsonb_to_record(waits[o.ordinal]) as w (
            after bigint[], after_ordinals integer[], on_failed text, run_at timestamptz
        )
        where o.outcome = 'enqueued' and waits[o.ordinal] is not null
        order by o.ordinal
    loop
        select
            array_agg(distinct p.id), min(p.ordinal) filter (where p.id is null)
        into v_parent_ids, v_refused
        from (
            select a.id, null as ordinal from unnest(v_wait.after) as a (id)
            union all
            select (outcomes[n.ordinal]).job_id, n.ordinal from unnest(v_wait.after_ordinals) as n (ordinal)
        ) as p;
        if v_refused is not null then
            raise exception using
                errcode = 'PB006',
                message = format(
                    'job %s waits for job %s of the same call, which was %s', v_wait.ordinal, v_refused,
                    (outcomes[v_refused]).outcome
                ),
                hint = 'Nothing was enqueued. Leave both out, or let the key become free first.';
        end if;
        perform pgbaton._require_parents(v_wait.after);
        perform pgbaton._add_edges(v_wait.job_id, v_parent_ids, v_wait.on_failed, v_wait.run_at, v_own_ids);
    end loop;
end;
$$;
comment on function pgbaton._add_edges_of(jsonb[], pgbaton.enqueue_outcome[]) is
'Notes what jobs of enqueue_jobs wait for, by their place in the call. Raises PB002, PB006 or 40001.';
