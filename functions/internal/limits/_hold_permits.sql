create or replace function pgbaton._hold_permits(
    permits pgbaton.permit[], spans pgbaton.span[], lease_token bigint, at timestamptz
)
returns void
language plpgsql volatile
as $$
begin
    with started as (
        select s.queue_id, sum(s.hi - s.lo + 1) as jobs from unnest(spans) as s group by s.queue_id
    ), needed as materialized (
        select n.*, least(n.units - n.used, s.jobs - n.before) as more
        from (
            select u.*, sum(u.units - u.used) over w - (u.units - u.used) as before
            from unnest(permits) with ordinality as u
            window w as (partition by u.queue_id, u.kind order by u.ordinality)
        ) as n
        inner join started as s on s.queue_id = n.queue_id
        where n.before < s.jobs
    ), replaced as (
        -- Each by its number: joined, all of the index might be read, dead entries included.
        delete from pgbaton.permit as p
        where p.ctid = any (array(
            select k.ctid from needed as n
            cross join lateral (
                select o.ctid from pgbaton.permit as o
                where o.queue_id = n.queue_id and o.kind = n.kind and o.no = n.no and o.version = n.version
                offset 0
            ) as k
        ))
    )
    insert into pgbaton.permit (queue_id, kind, no, version, units, used, ordinal, lease_token, free_at)
    select
        n.queue_id, n.kind, n.no, nextval('pgbaton.permit_seq'), n.units, n.used + n.more,
        case when n.kind = 'running' then n.before + 1 + (
            -- What this claim has started before.
            select coalesce(sum(s.hi - s.lo + 1), 0) from pgbaton.held_span as s
            where s.lease_token = _hold_permits.lease_token and s.queue_id = n.queue_id
                and s.lo not in (select u.lo from unnest(spans) as u)
        ) end,
        case when n.kind = 'running' then _hold_permits.lease_token end,
        case when n.kind <> 'running' then at + l.refill end
    from needed as n
    cross join lateral (
        select q.refill from pgbaton.queue_limit as q where q.queue_id = n.queue_id and q.kind = n.kind offset 0
    ) as l;
end;
$$;
comment on function pgbaton._hold_permits(pgbaton.permit[], pgbaton.span[], bigint, timestamptz) is
'Notes that a claim starts these spans at that time, on the permits that _admit locked for it: so many of each
limit as it has started jobs.';
