create or replace function pgbaton._ended_leases(
    leases_from timestamptz, at timestamptz, max_spans integer, queue_ids integer[] default null,
    only_lo bigint default null
)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_spans pgbaton.span[];
begin
    with ended as materialized (
        select s.lo, s.hi from only pgbaton.span as s
        where s.state in ('active', 'cancelling')
            and s.lease_until >= leases_from and s.lease_until < at
            and (queue_ids is null or s.queue_id = any (queue_ids))
            and (only_lo is null or s.lo = only_lo)
        order by s.lease_until
        limit max_spans
        for update skip locked
    ), ended_plain as materialized (
        select s.lo, s.hi from pgbaton.leased_span as s
        where s.state in ('active', 'cancelling')
            and s.lease_until >= leases_from and s.lease_until < at
            and (queue_ids is null or s.queue_id = any (queue_ids))
            and (only_lo is null or s.lo = only_lo)
        order by s.lease_until
        limit max_spans
        for update skip locked
    ), taken as materialized (
        select e.* from ended as e
        union all
        select p.* from ended_plain as p
        limit max_spans
    ), removed as (
        delete from pgbaton.span as s
        where s.lo = any (array(select t.lo from taken as t)) and s.hi = any (array(select t.hi from taken as t))
        returning s.*
    )
    select array_agg(r::pgbaton.span) into v_spans from removed as r;
    return v_spans;
end;
$$;
comment on function pgbaton._ended_leases(timestamptz, timestamptz, integer, integer[], bigint) is
'Takes out spans whose lease has ended, of these queues (null: any), at most max_spans (null: all), or only_lo
alone; the caller hands them to _recover.';
