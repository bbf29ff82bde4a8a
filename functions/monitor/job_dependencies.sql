create or replace function pgbaton.job_dependencies(job_id bigint, max_rows integer default 100)
returns setof pgbaton.job_dependency
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_job constant pgbaton.job_info := pgbaton._job_info(job_id, 'monitor');
    v_allowed constant integer[] := pgbaton._allowed_queues('monitor');
begin
    perform pgbaton._check_rows('max_rows', max_rows, 10000);
    return query
    select
        e.child_id, e.parent_id, q.name, r.state, r.resolution, w.on_failed,
        w.on_failed is null or pgbaton._edge_verdict(e.parent_id, w.on_failed) = 'settled'
    from (
        (
            select n.child_id, n.parent_id, n.ordinal, n.parent_id as other_id from pgbaton.job_edge as n
            where n.child_id = v_job.id
            order by n.ordinal
            limit max_rows
        )
        union all
        (
            select n.child_id, n.parent_id, n.ordinal, n.child_id from pgbaton.job_edge as n
            where n.parent_id = v_job.id
            order by n.child_id
            limit max_rows
        )
    ) as e
    left join lateral (
        select n.on_failed from pgbaton.job_wait as n
        where n.child_id = e.child_id and n.level = 0 and n.no = e.ordinal / 16
        offset 0
    ) as w on true
    left join lateral (
        select s.queue_id, s.state, null as resolution from pgbaton.span as s
        where pgbaton._covers(s.lo, s.hi, e.other_id)
        union all
        select h.queue_id, h.state, h.resolution from pgbaton.job_history as h
        where pgbaton._covers(h.lo, h.hi, e.other_id)
        limit 1
    ) as r on v_allowed is null or r.queue_id = any (v_allowed)
    left join pgbaton.queue as q on q.id = r.queue_id
    order by e.child_id <> v_job.id, e.ordinal, e.child_id;
end;
$$;
comment on function pgbaton.job_dependencies(bigint, integer) is
'The jobs that a job waits or waited for, and then the jobs that wait or waited for it; of each at most max_rows of
10,000. Queue and state of the other job are null where that queue is not yours.
Raises PB002 (no such job), 22004 or 22023.';
