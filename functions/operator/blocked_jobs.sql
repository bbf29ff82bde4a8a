create or replace function pgbaton.blocked_jobs(queue text default null, max_rows integer default 100)
returns setof pgbaton.blocked_job
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'operate');
    v_allowed constant integer[] := pgbaton._allowed_queues('operate');
begin
    perform pgbaton._check_rows('max_rows', max_rows, 10000);
    return query
    select q.name, w.child_id, e.parent_id, p.name, case when p.id is not null then r.state end,
        case when p.id is not null then r.resolution end, o.last_error, w.blocked_at
    from pgbaton.job_wait as w
    inner join pgbaton.job_edge as e
        on e.child_id = w.child_id and e.ordinal between w.no * 16 and w.ordinal
    cross join lateral (select n.name from pgbaton.queue as n where n.id = w.queue_id offset 0) as q
    left join lateral (
        select s.queue_id, s.state, null as resolution, s.day from pgbaton.span as s
        where pgbaton._covers(s.lo, s.hi, e.parent_id)
        union all
        select h.queue_id, h.state, h.resolution, h.day from pgbaton.job_history as h
        where pgbaton._covers(h.lo, h.hi, e.parent_id)
        limit 1
    ) as r on true
    left join pgbaton.queue as p on p.id = r.queue_id and (v_allowed is null or p.id = any (v_allowed))
    left join lateral (
        select n.last_error from pgbaton.job_report as n
        where n.job_id = e.parent_id and n.day = r.day and p.id is not null
        offset 0
    ) as o on true
    where w.blocked_at is not null and (v_queue_ids is null or w.queue_id = any (v_queue_ids))
        and pgbaton._edge_verdict(e.parent_id, 'wait') = 'blocked' and (pgbaton._live_span(w.child_id)).lo is not null
    order by w.blocked_at, w.child_id, e.ordinal
    limit max_rows;
end;
$$;
comment on function pgbaton.blocked_jobs(text, integer) is
'Jobs of a queue (null: of all) that wait for another job which failed, or ended without being completed. Each row
names that job, its state and its error. The longest wait comes first, and there are at most max_rows of 10,000.

To let them go on, call retry_job or skip_job for the failed job. If it ended in another way, call stop_waiting or
cancel_jobs for the job that waits.

State and error are null where the other queue is not yours. A failure shows here once a claim or run_maintenance has
looked at it, mostly at once. Raises PB001 or 22023.';
