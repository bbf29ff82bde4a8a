create or replace function pgbaton._put_off(lo bigint, at timestamptz)
returns void
language plpgsql volatile
as $$
begin
    update pgbaton.span as s
    set run_at = case when s.lease_until is null then at + interval '10 minutes' else s.run_at end,
        lease_until = case when s.lease_until is not null then at + interval '10 minutes' end
    where s.lo = _put_off.lo and pgbaton._covers(s.lo, s.hi, _put_off.lo);
end;
$$;
comment on function pgbaton._put_off(bigint, timestamptz) is
'Lets a span that could not be made due, or taken back, alone for ten minutes: else each claim would try it again.';
