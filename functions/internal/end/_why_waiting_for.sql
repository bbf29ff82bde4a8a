create or replace function pgbaton._why_waiting_for(job_id bigint)
returns text
language plpgsql volatile
as $$
declare
    v_parent record;
begin
    if pg_sequence_last_value('pgbaton.edge_seq') is null then
        return null;
    end if;
    select e.parent_id, v.verdict, count(*) over () as open_count, w.queue_id into v_parent
    from pgbaton.job_wait as w
    inner join pgbaton.job_edge as e on e.child_id = w.child_id and e.ordinal between w.no * 16 and w.ordinal
    cross join lateral (select pgbaton._edge_verdict(e.parent_id, w.on_failed) as verdict offset 0) as v
    where w.child_id = _why_waiting_for.job_id and w.level = 0 and v.verdict <> 'settled'
    order by v.verdict = 'open', e.ordinal
    limit 1;
    if not found then
        return case when exists (select from pgbaton.job_wait as w where w.child_id = _why_waiting_for.job_id) then
            format('Job %s waited for jobs, which have ended: the next claim lets it go on.', job_id)
        end;
    end if;
    return format('Job %s waits for job %s, which %s%s.%s',
        job_id, v_parent.parent_id, case
            when pgbaton._state_of(v_parent.parent_id) is null then 'is gone and will not complete'
            when (pgbaton._live_span(v_parent.parent_id)).lo is null
                then format('ended as %s and will not complete', pgbaton._state_of(v_parent.parent_id))
            else format('is %s', pgbaton._state_of(v_parent.parent_id))
        end,
        case when v_parent.open_count > 1 then format(', and for %s more', v_parent.open_count - 1) else '' end,
        case
            when v_parent.verdict <> 'blocked'
                then format(' pgbaton.why_not_running(%s) says more.', v_parent.parent_id)
            when (pgbaton._live_span(v_parent.parent_id)).lo is not null then format(
                ' Call pgbaton.retry_job(%1$L, %2$s) or pgbaton.skip_job(%1$L, %2$s).', (
                    select q.name from pgbaton.queue as q
                    where q.id = (pgbaton._live_span(v_parent.parent_id)).queue_id
                ), v_parent.parent_id
            )
            else format(
                ' Call pgbaton.stop_waiting(%L, %s) or cancel it.',
                (select q.name from pgbaton.queue as q where q.id = v_parent.queue_id), job_id
            )
        end
    );
end;
$$;
comment on function pgbaton._why_waiting_for(bigint) is
'Says which job a job waits for, one that keeps it for good before one that runs, and which call helps; null when it
waits for none.';
