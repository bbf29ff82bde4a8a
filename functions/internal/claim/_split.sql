create or replace function pgbaton._split(lo bigint, hi bigint)
returns void
language plpgsql volatile
as $$
declare
    v_front pgbaton.span;
begin
    select s.* into v_front from only pgbaton.span as s where s.lo = _split.lo;
    v_front := pgbaton._cut(v_front, _split.hi - _split.lo + 1);
    insert into pgbaton.span values (v_front.*);
end;
$$;
comment on function pgbaton._split(bigint, bigint) is
'Makes the jobs lo to hi, the first ones of a locked span that has more, a span of their own.';
