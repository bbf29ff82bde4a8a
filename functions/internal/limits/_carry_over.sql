create or replace function pgbaton._carry_over(
    queue_id integer, kind pgbaton.limit_kind, starts pgbaton.permit[], old_refill interval
)
returns void
language plpgsql volatile
as $$
begin
    -- The newest starts fill the permits: when the oldest of those that fit leaves the interval, all before it have.
    with old as (
        select s.used, pgbaton._after(s.free_at, -old_refill) as at, sum(s.used) over w - s.used as newer
        from unnest(starts) as s
        window w as (order by s.free_at desc, s.no)
    ), new as (
        select p.no, p.version, p.units, sum(p.units) over (order by p.no) - p.units as before
        from pgbaton.permit as p
        where p.queue_id = _carry_over.queue_id and p.kind = _carry_over.kind
    )
    update pgbaton.permit as p
    set used = u.used, free_at = pgbaton._after(u.at, l.refill)
    from (
        select
            n.no, n.version, max(o.at) as at,
            sum(least(o.newer + o.used, n.before + n.units) - greatest(o.newer, n.before)) as used
        from new as n
        inner join old as o on o.newer < n.before + n.units and o.newer + o.used > n.before
        group by n.no, n.version
    ) as u, pgbaton.queue_limit as l
    where p.queue_id = _carry_over.queue_id and p.kind = _carry_over.kind and p.no = u.no and p.version = u.version
        and l.queue_id = p.queue_id and l.kind = p.kind;
end;
$$;
comment on function pgbaton._carry_over(integer, pgbaton.limit_kind, pgbaton.permit[], interval) is
'Marks what started under a limit as it was before, on the unused permits of the limit as it is now.';
