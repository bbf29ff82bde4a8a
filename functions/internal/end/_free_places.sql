create or replace function pgbaton._free_places(spans pgbaton.span[])
returns void
language plpgsql volatile
as $$
begin
    if spans[1].slot < -100 or cardinality(spans) > 1 then
        perform pgbaton._release_places(spans);
    end if;
    perform pgbaton._wake_limited(spans);
end;
$$;
comment on function pgbaton._free_places(pgbaton.span[]) is
'For jobs that were with workers and are not any more, in a statement after the one that ended them: tells who waits for
their places under the limits of the queue.';
