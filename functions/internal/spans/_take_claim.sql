create or replace function pgbaton._take_claim(lease_token bigint, allowed_queue_ids integer[])
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_spans pgbaton.span[];
begin
    with held as materialized (
        -- Found without order, or where the table seems to be empty all of the primary key would be read in order.
        select s.lo, s.hi from pgbaton.span as s
        where s.lease_token = _take_claim.lease_token
            and (allowed_queue_ids is null or s.queue_id = any (allowed_queue_ids))
        offset 0
    ), locked as materialized (
        -- In order, as all do who lock several spans.
        select s.lo, s.hi from pgbaton.span as s
        where s.lo = any (array(select h.lo from held as h)) and s.hi = any (array(select h.hi from held as h))
            and s.lease_token is not distinct from _take_claim.lease_token
        order by s.lo
        for update
    ), removed as (
        delete from pgbaton.span as s
        where s.lo = any (array(select l.lo from locked as l)) and s.hi = any (array(select l.hi from locked as l))
        returning s.*
    )
    select coalesce(array_agg(r::pgbaton.span), '{}') into v_spans from removed as r;
    return v_spans;
end;
$$;
comment on function pgbaton._take_claim(bigint, integer[]) is
'Takes out the spans that a claim has, in these queues (null: all).';
