create or replace function pgbaton._add_edges_of_job(
    wait jsonb, ordinal integer, outcomes pgbaton.enqueue_outcome[], own_ids bigint[] default '{}'
)
returns void
language plpgsql volatile
as $$
declare
    v_wait record;
    v_refused integer;
    v_parent_ids bigint[];
begin
    select w.* into v_wait
    from jsonb_to_record(wait) as w (after bigint[], after_ordinals integer[], on_failed text, run_at timestamptz);
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
                'job %s waits for job %s of the same call, which was %s', ordinal, v_refused,
                (outcomes[v_refused]).outcome
            ),
            hint = 'Nothing was enqueued. Leave both out, or let the key become free first.';
    end if;
    perform pgbaton._require_parents(v_wait.after);
    perform pgbaton._add_edges(
        (outcomes[ordinal]).job_id, v_parent_ids, v_wait.on_failed, v_wait.run_at, own_ids
    );
end;
$$;
comment on function pgbaton._add_edges_of_job(jsonb, integer, pgbaton.enqueue_outcome[], bigint[]) is
'Notes what the ordinal-th job of enqueue_jobs waits for, by places in the call. own_ids: those of the call that cannot
have ended. Raises PB002, PB006 or 40001.';
