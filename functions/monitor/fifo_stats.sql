create or replace function pgbaton.fifo_stats(queue text default null)
returns setof pgbaton.fifo_stat
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'monitor');
begin
    return query
    select
        q.name, c.singleton_key, c.depth, h.lo, h.state, coalesce(r.retry_count, 0),
        case when c.depth > 1 or h.state in ('failed', 'retry') then
            v_now - coalesce(h.changed_at, h.claimed_at, j.created_at)
        end,
        exists (
            select from pgbaton.paused_key as k where k.queue_id = c.queue_id and k.singleton_key = c.singleton_key
        )
    from (
        select s.queue_id, s.singleton_key, sum(s.hi - s.lo + 1)::bigint as depth
        from only pgbaton.span as s
        where s.singleton_key is not null and (v_queue_ids is null or s.queue_id = any (v_queue_ids))
            -- A dead letter of a key that went on is not in its line.
            and not (s.state = 'failed' and s.held_key is null)
        group by s.queue_id, s.singleton_key
    ) as c
    cross join lateral (select n.name, n.policy from pgbaton.queue as n where n.id = c.queue_id offset 0) as q
    left join lateral (
        select n.* from only pgbaton.span as n
        where n.queue_id = c.queue_id and n.singleton_key = c.singleton_key
            and n.slot is not null and n.held_key is not null
        offset 0
    ) as h on true
    left join lateral (
        select k.created_at from pgbaton.job as k where k.id = h.lo and k.day = h.day offset 0
    ) as j on true
    left join lateral (
        select n.retry_count from pgbaton.job_report as n where n.job_id = h.lo and n.day = h.day offset 0
    ) as r on true
    where q.policy = 'fifo'
    order by q.name, c.depth desc, c.singleton_key;
end;
$$;
comment on function pgbaton.fifo_stats(text) is
'One row for each key of the FIFO queues (or of the named one): how many jobs stand in its line, which one holds it,
how often that was retried, and for how long it has held up the others (null: it does not). Reads all live jobs with
keys; live_stats counts by queue, and blocked_keys shows the keys that do not go on. Raises PB001.';
