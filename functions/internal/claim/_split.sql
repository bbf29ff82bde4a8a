create or replace function pgbaton._split(lo bigint, hi bigint)
returns void
language plpgsql volatile
as $$
begin
    perform pgbaton._put(array[pgbaton._cut(pgbaton._live_span(lo), hi - lo + 1)]);
end;
$$;
comment on function pgbaton._split(bigint, bigint) is
'Makes the jobs lo to hi, the first ones of a locked span that has more, a span of their own, where that one stands.';
