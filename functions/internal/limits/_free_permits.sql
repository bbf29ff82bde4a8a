create or replace function pgbaton._free_permits(
    of_limit pgbaton.queue_limit, above integer, most bigint
)
returns pgbaton.permit[]
language plpgsql volatile
as $$
begin
    return array(
        select h::pgbaton.permit
        -- The time after the snapshot: earlier, what another claim has used since would look like a clock set back.
        from (select pgbaton._now() as at offset 0) as t
        cross join lateral pgbaton._permits(of_limit, t.at) as h
        where h.no > above and h.no <= of_limit.permits and h.used < h.units
        limit most
    );
end;
$$;
comment on function pgbaton._free_permits(pgbaton.queue_limit, integer, bigint) is
'The first permits of a limit, with numbers above that one, that are free for some job; at most so many.';
