create or replace function pgbaton._is_at_rest(parent_id bigint)
returns boolean
language plpgsql volatile
as $$
begin
    return exists (
        select from pgbaton.span as s
        where pgbaton._covers(s.lo, s.hi, _is_at_rest.parent_id)
        for key share skip locked
    ) or (
        (pgbaton._live_span(parent_id)).lo is null
        and (
            pgbaton._state_of(parent_id) is distinct from 'unknown_stopped'  -- else it may still be completed
            or exists (
                select from pgbaton.job_history as h
                where h.lo = _is_at_rest.parent_id and h.state = 'unknown_stopped'
                for key share skip locked
            )
        )
    );
end;
$$;
comment on function pgbaton._is_at_rest(bigint) is
'Whether no open transaction is ending this job, or claiming or moving it: who ends it from here on sees who waits for
it. Waits for nobody, and keeps the job as it is until the transaction ends.';
