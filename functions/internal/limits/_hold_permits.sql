create or replace function pgbaton._hold_permits(
    permits pgbaton.permit[], spans pgbaton.span[], before pgbaton.span[], lease_token bigint, at timestamptz
)
returns void
language plpgsql volatile
as $$
begin
    with started as (
        select s.queue_id, sum((s.hi - s.lo + 1)::integer) as jobs from unnest(spans) as s group by s.queue_id
    ), needed as (
        select n.*, least(n.units - n.used, s.jobs - n.before) as more
        from (
            select u.*, sum(u.units - u.used) over w - (u.units - u.used) as before
            from unnest(permits) with ordinality as u
            window w as (partition by u.queue_id, u.kind order by u.ordinality)
        ) as n
        inner join started as s on s.queue_id = n.queue_id
        where n.before < s.jobs
    )
    update pgbaton.permit as p
    set version = nextval('pgbaton.permit_seq'), used = n.used + n.more,
        ordinal = case when n.kind = 'running' then n.before + 1 + (
            select coalesce(sum((s.hi - s.lo + 1)::integer), 0) from unnest(_hold_permits.before) as s
            where s.queue_id = n.queue_id
        ) end,
        lease_token = case when n.kind = 'running' then _hold_permits.lease_token end,
        free_at = case when n.kind <> 'running' then pgbaton._after(at, (
            select l.refill from pgbaton.queue_limit as l where l.queue_id = n.queue_id and l.kind = n.kind
        )) end
    from needed as n
    cross join lateral (
        -- Each by its number: joined, all of the index might be read, dead entries included.
        select o.ctid from pgbaton.permit as o
        where o.queue_id = n.queue_id and o.kind = n.kind and o.no = n.no and o.version = n.version
        offset 0
    ) as k
    where p.ctid = k.ctid;
end;
$$;
comment on function pgbaton._hold_permits(pgbaton.permit[], pgbaton.span[], pgbaton.span[], bigint, timestamptz) is
'Notes that a claim starts these spans at that time, on the permits that _admit locked for it: so many of each
limit as it has started jobs. before: what it has started until now.';
