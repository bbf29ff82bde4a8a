create or replace function pgbaton._take_leased(los bigint[], his bigint[], lease_tokens bigint[])
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_spans pgbaton.span[];
begin
    with leased as materialized (
        select s.lo, s.hi from pgbaton.span as s
        where s.lo = any (los) and s.hi = any (his) and s.lease_token = any (lease_tokens)
            and s.lease_until is not null
        order by s.lo
        for update
    ), removed as (
        delete from pgbaton.span as s
        where s.lo = any (array(select l.lo from leased as l)) and s.hi = any (array(select l.hi from leased as l))
        returning s.*
    )
    select array_agg(r::pgbaton.span) into v_spans from removed as r;
    return v_spans;
end;
$$;
comment on function pgbaton._take_leased(bigint[], bigint[], bigint[]) is
'Takes out those of these spans that are leased under one of the tokens.';
