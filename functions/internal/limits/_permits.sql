create or replace function pgbaton._permits(queue_id integer, kind pgbaton.limit_kind, at timestamptz)
returns setof pgbaton.permit
language sql stable
as $$
    select
        l.queue_id, l.kind, n.no, h.version, h.units,
        case
            when l.kind = 'running' then (coalesce(h.ordinal <= (
                select sum(s.hi - s.lo + 1) from pgbaton.held_span as s
                where s.lease_token = h.lease_token and s.queue_id = l.queue_id
            ), false))::integer
            -- Further ahead than it can be: the clock was set back.
            when h.free_at > _permits.at and h.free_at <= _permits.at + l.refill then h.used
            else 0
        end,
        h.ordinal, h.lease_token, h.free_at
    from pgbaton.queue_limit as l
    cross join lateral generate_series(1, l.last_no) as n (no)
    cross join lateral (
        select p.version, p.units, p.used, p.ordinal, p.lease_token, p.free_at
        from pgbaton.permit as p
        where p.queue_id = l.queue_id and p.kind = l.kind and p.no = n.no
        order by p.queue_id desc, p.kind desc, p.no desc, p.version desc
        limit 1
    ) as h
    where l.queue_id = _permits.queue_id and l.kind = _permits.kind
$$;
comment on function pgbaton._permits(integer, pgbaton.limit_kind, timestamptz) is
'The newest version of each permit of a limit in their order, with used as it is at that time. Whether a permit of
running is used is told by the leases themselves, so that no path that ends one can forget to give it back. No
search_path, so that it inlines.';
