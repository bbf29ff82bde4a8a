create or replace function pgbaton._put_back(whole pgbaton.span, lo bigint, hi bigint)
returns void
language plpgsql volatile
as $$
declare
    v_part pgbaton.span := whole;
begin
    v_part.lo := lo;
    v_part.hi := hi;
    v_part.position := whole.position + (lo - whole.lo);
    insert into pgbaton.span values (v_part.*);
end;
$$;
comment on function pgbaton._put_back(pgbaton.span, bigint, bigint) is
'Inserts a part of a span that was split as a span of its own, at the positions its jobs had.';
