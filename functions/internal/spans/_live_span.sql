create or replace function pgbaton._live_span(job_id bigint)
returns pgbaton.span
language plpgsql volatile
as $$
declare
    v_span pgbaton.span;
begin
    if job_id < 1 then
        return null;
    end if;
    select s.* into v_span
    from pgbaton.span as s
    where pgbaton._covers(s.lo, s.hi, _live_span.job_id)
    order by s.lo desc
    limit 1;
    return v_span;
end;
$$;
comment on function pgbaton._live_span(bigint) is
'The live span that the job is in, nulls if it is not live.';
