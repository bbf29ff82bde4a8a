create or replace function pgbaton.queue_stats(queue text default null)
returns setof pgbaton.queue_stat
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'monitor');
begin
    return query
    select
        l.queue, l.pending, l.scheduled, l.waiting, l.processing, l.retrying + l.recovered, l.dlq,
        coalesce(h.completed, 0),
        l.pending + l.scheduled + l.waiting + l.processing + l.retrying + l.recovered + l.dlq,
        l.oldest_ready_age
    from pgbaton.live_stats(queue) as l
    inner join pgbaton.queue as q on q.name = l.queue
    left join (
        select e.queue_id, sum(e.hi - e.lo + 1)::bigint as completed
        from pgbaton.job_history as e
        where e.state = 'completed' and (v_queue_ids is null or e.queue_id = any (v_queue_ids))
        group by e.queue_id
    ) as h on h.queue_id = q.id
    order by l.queue;
end;
$$;
comment on function pgbaton.queue_stats(text) is
'One row for each queue (or the named one): its jobs by what they are doing, and the age of the next job. Reads all
live jobs and the history that retention keeps; live_stats reads no history, and job_totals keeps its sums.
Raises PB001.';
