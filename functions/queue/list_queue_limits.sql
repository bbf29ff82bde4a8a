create or replace function pgbaton.list_queue_limits()
returns setof pgbaton.queue_limits
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_allowed constant integer[] := pgbaton._allowed_queues('operate');
begin
    return query
    select
        q.name, r.size, case when r.size is not null then (
            select count(*) from pgbaton._permits(r, v_now) as p where p.used > 0
        ) end,
        nullif(k.size, 1), s.size, s.refill, coalesce(b.size, s.size), pgbaton._next_start(q.id, v_now),
        c.size, c.refill, coalesce(d.size, c.size)
    from pgbaton.queue as q
    left join pgbaton.queue_limit as r on r.queue_id = q.id and r.kind = 'running'
    left join pgbaton.queue_limit as k on k.queue_id = q.id and k.kind = 'key'
    left join pgbaton.queue_limit as s on s.queue_id = q.id and s.kind = 'rate'
    left join pgbaton.queue_limit as b on b.queue_id = q.id and b.kind = 'burst'
    left join pgbaton.queue_limit as c on c.queue_id = q.id and c.kind = 'key_rate'
    left join pgbaton.queue_limit as d on d.queue_id = q.id and d.kind = 'key_burst'
    where q.is_limited and (num_nonnulls(r.size, s.size, c.size) > 0 or k.size > 1)
        and (v_allowed is null or q.id = any (v_allowed))
    order by q.name;
end;
$$;
comment on function pgbaton.list_queue_limits() is
'The queues that have limits, by name, with what runs now and when the next job may start; to a role that is narrowed,
those on which it may operate.';
