create or replace function pgbaton._permits(of_limit pgbaton.queue_limit, at timestamptz)
returns setof pgbaton.permit
language sql stable
as $$
    select
        of_limit.queue_id, of_limit.kind, n.no, h.version, h.units,
        case
            when of_limit.kind = 'running' then (coalesce(h.ordinal <= (
                select sum((s.hi - s.lo + 1)::integer) from pgbaton.held_span as s
                where s.lease_token = h.lease_token and s.queue_id = of_limit.queue_id
            ), false))::integer
            -- Further ahead than it can be: the clock was set back.
            when h.free_at > _permits.at and h.free_at <= pgbaton._after(_permits.at, of_limit.refill) then h.used
            else 0
        end,
        h.ordinal, h.lease_token, h.free_at
    from generate_series(1, of_limit.last_no) as n (no)
    cross join lateral (
        select p.version, p.units, p.used, p.ordinal, p.lease_token, p.free_at
        from pgbaton.permit as p
        where p.queue_id = of_limit.queue_id and p.kind = of_limit.kind and p.no = n.no
        order by p.queue_id desc, p.kind desc, p.no desc, p.version desc
        limit 1
    ) as h
$$;
comment on function pgbaton._permits(pgbaton.queue_limit, timestamptz) is
'The newest version of each permit of a limit in their order, with used as it is at that time. Whether a permit of
running is used is told by the leases themselves, so that no path that ends one can forget to give it back. No
search_path, so that it inlines.';
