create or replace function pgbaton._split_ready(hi bigint, jobs bigint)
returns void
language plpgsql volatile
as $$
declare
    v_front pgbaton.span;
begin
    update pgbaton.ready_span as s set lo = s.lo + jobs where s.hi = _split_ready.hi returning s.* into v_front;
    v_front.lo := v_front.lo - jobs;
    v_front.position := v_front.position - (v_front.hi - v_front.lo + 1 - jobs);
    v_front.hi := v_front.lo + jobs - 1;
    insert into pgbaton.ready_span values (v_front.*);
end;
$$;
comment on function pgbaton._split_ready(bigint, bigint) is
'Makes the first jobs of a locked claimable span of a standard queue, which ends with hi and has more, a span of their
own.';
