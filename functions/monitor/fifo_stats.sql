create or replace function pgbaton.fifo_stats(queue text default null)
returns setof pgbaton.fifo_stat
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
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
        from pgbaton.span as s
        where s.singleton_key is not null and (v_queue_ids is null or s.queue_id = any (v_queue_ids))
            -- A dead letter of a key that went on is not in its line.
            and not (s.state = 'failed' and s.held_key is null)
        group by s.queue_id, s.singleton_key
    ) as c
    inner join pgbaton.queue as q on q.id = c.queue_id and q.policy = 'fifo'
    left join pgbaton.span as h on h.queue_id = c.queue_id and h.held_key = c.singleton_key
    left join pgbaton.job as j on j.id = h.lo and j.day = h.day
    left join pgbaton.job_report as r on r.job_id = h.lo and r.day = h.day
    order by q.name, c.depth desc, c.singleton_key;
end;
$$;
comment on function pgbaton.fifo_stats(text) is
'One row for each key of the FIFO queues (or of the named one): how many jobs stand in its line, which one
holds it, how often that was retried, and for how long it has held up the others (null: it does not). Raises
PB001.';
