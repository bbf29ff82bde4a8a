create or replace function pgbaton._job_info(job_id bigint, action text)
returns pgbaton.job_info
language plpgsql volatile
set enable_seqscan = off
set jit = off
as $$
declare
    v_info pgbaton.job_info;
    v_allowed constant integer[] := pgbaton._allowed_queues(action);
begin
    select
        j.id, q.name, l.job_type, l.tags, l.priority, j.singleton_key, coalesce(h.attempt, s.attempt),
        coalesce((j.options).max_attempts, q.max_attempts) + coalesce(h.extra_attempts, s.extra_attempts, 0),
        j.payload, j.created_at, coalesce(h.run_at, case when s.run_at = 'infinity' then w.run_at else s.run_at end),
        coalesce(h.claimed_at, s.claimed_at), s.lease_until, s.lease_token, coalesce(h.state, s.state), r.result,
        r.last_error, case when h.state = 'completed' then 100 else r.progress end, r.current_stage, r.events_count,
        coalesce(r.retry_count, 0), r.last_retry_at, coalesce(h.worker_id, s.worker_id),
        coalesce(h.started_at, s.started_at), h.finished_at, s.held_key is not null,
        (
            select d.dedup_id from pgbaton.dedup as d
            where d.job_id = j.id and d.queue_id = q.id
            limit 1
        ), h.resolution, (j.options).headers
    into v_info
    from pgbaton.job as j
    -- By their keys: joined, all lanes would be read when statistics say that they are few.
    cross join lateral (
        select n.queue_id, n.job_type, n.tags, n.priority from pgbaton.lane as n where n.id = j.lane_id offset 0
    ) as l
    cross join lateral (
        select n.id, n.name, n.max_attempts from pgbaton.queue as n where n.id = l.queue_id offset 0
    ) as q
    left join pgbaton.span as s on pgbaton._covers(s.lo, s.hi, j.id)
    left join pgbaton.job_history as h on h.day = j.day and pgbaton._covers(h.lo, h.hi, j.id)
    left join lateral (
        select n.run_at from pgbaton.job_wait as n where n.child_id = j.id and s.run_at = 'infinity' limit 1
    ) as w on true
    left join pgbaton.job_report as r on r.job_id = j.id and r.day = j.day
    -- Neither is what was staged for spark_commit.
    where j.id = _job_info.job_id and coalesce(s.lo, h.lo) is not null
        and (v_allowed is null or q.id = any (v_allowed));
    if not found then
        perform pgbaton._refuse(job_id, 'get_job', action => action);
    end if;
    return v_info;
end;
$$;
comment on function pgbaton._job_info(bigint, text) is
'All that is known of a job, to a caller who may do that on its queue. Raises PB002 or 22004.';
