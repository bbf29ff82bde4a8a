create or replace function pgbaton._cut_ready(hi bigint, jobs bigint)
returns pgbaton.span
language plpgsql volatile
as $$
declare
    v_cut pgbaton.span;
begin
    update pgbaton.ready_span as s set lo = s.lo + jobs where s.hi = _cut_ready.hi returning s.* into v_cut;
    v_cut.lo := v_cut.lo - jobs;
    v_cut.position := v_cut.position - (v_cut.hi - v_cut.lo + 1 - jobs);
    v_cut.hi := v_cut.lo + jobs - 1;
    return v_cut;
end;
$$;
comment on function pgbaton._cut_ready(bigint, bigint) is
'Takes the first jobs off a locked span of ready_span, which ends with hi and has more, and returns them.';
