create or replace function pgbaton._free_places(spans pgbaton.span[], wakes boolean default true)
returns void
language plpgsql volatile
as $$
begin
    perform pgbaton._release_places(spans);
    if wakes then
        perform pgbaton._wake_limited(
            array(select s.queue_id from unnest(spans) as s),
            (select sum(s.hi - s.lo + 1) from unnest(spans) as s)::bigint
        );
    end if;
end;
$$;
comment on function pgbaton._free_places(pgbaton.span[], boolean) is
'For jobs that were with workers and are not any more, in a statement after the one that ended them: tells who waits for
their places under the limits of the queue; but for sleeping workers where the caller wakes them itself, later.';
