create or replace function pgbaton._state_of(job_id bigint)
returns pgbaton.job_state
language plpgsql volatile
as $$
begin
    return coalesce(
        (pgbaton._live_span(job_id)).state,
        (
            select h.state from pgbaton.job_history as h
            where pgbaton._covers(h.lo, h.hi, _state_of.job_id)
            order by h.finished_at desc
            limit 1
        )
    );
end;
$$;
comment on function pgbaton._state_of(bigint) is
'State of a job, live or final; null if there is no such job.';
