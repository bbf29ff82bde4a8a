-- Barriers: what a caller asks for, which may raise or tell what it sees, is computed for rows of their queues only.
-- The day is compared as a range: an equality would offer the planner a hash join by day alone, which pairs each job of
-- the day with every span. A span has at most 64 ids: said more than once in each direction, so that one job finds its
-- span through the index, and a span its jobs: the planner takes each for a bound of its own.
-- Lane, queue and report are found by their keys, after the two, whatever the statistics say.
create or replace view pgbaton.live_jobs with (security_barrier) as
select
    j.id, q.name as queue, l.job_type, l.tags, l.priority, j.singleton_key, s.state, s.attempt,
    coalesce((j.options).max_attempts, q.max_attempts) + coalesce(s.extra_attempts, 0) as max_attempts,
    j.payload, j.created_at, s.run_at, s.claimed_at, s.started_at, s.lease_until, s.worker_id,
    s.held_key is not null as holds_key, r.retry_count, r.last_error, r.progress, r.current_stage, s.lo as range_id
from pgbaton.span as s
inner join pgbaton.job as j
    on
        j.day between s.day and s.day and j.id between s.lo and s.hi and s.lo > j.id - 64
        and s.hi <= least(j.id, 9223372036854775744) + 63
        and s.lo >= j.id - 63 and j.id < s.lo + 64 and j.id > s.hi - 64
cross join
    lateral (
        select n.job_type, n.tags, n.priority from pgbaton.lane as n
        where n.id = j.lane_id
        offset 0  -- noqa: AM09
    ) as l
cross join
    lateral (
        select n.name, n.max_attempts from pgbaton.queue as n
        where n.id = s.queue_id
        offset 0  -- noqa: AM09
    ) as q
left join lateral (
    select n.retry_count, n.last_error, n.progress, n.current_stage from pgbaton.job_report as n
    where n.job_id = j.id and n.day = j.day
    offset 0  -- noqa: AM09
) as r on true
where q.name = any(array(select pgbaton.granted_queues('monitor')));
comment on view pgbaton.live_jobs is
'One row for each job that has not ended, with its state and payload. Jobs that are stored together share a range_id,
the first of their ids: ranges of it cut all jobs into parts that can be read side by side.';

create or replace view pgbaton.finished_jobs with (security_barrier) as
select
    j.id, q.name as queue, l.job_type, l.tags, l.priority, j.singleton_key, h.state, h.resolution, h.attempt,
    j.payload, j.created_at, h.run_at, h.claimed_at, h.started_at, h.finished_at, h.worker_id,
    r.retry_count, r.last_error, r.result, h.lo as range_id
from pgbaton.job_history as h
inner join pgbaton.job as j
    on
        j.day between h.day and h.day and j.id between h.lo and h.hi and h.lo > j.id - 64
        and h.lo >= j.id - 63 and j.id < h.lo + 64 and j.id > h.hi - 64
cross join
    lateral (
        select n.job_type, n.tags, n.priority from pgbaton.lane as n
        where n.id = j.lane_id
        offset 0  -- noqa: AM09
    ) as l
cross join
    lateral (
        select n.name, n.max_attempts from pgbaton.queue as n
        where n.id = h.queue_id
        offset 0  -- noqa: AM09
    ) as q
left join lateral (
    select n.retry_count, n.last_error, n.result from pgbaton.job_report as n
    where n.job_id = j.id and n.day = j.day
    offset 0  -- noqa: AM09
) as r on true
where q.name = any(array(select pgbaton.granted_queues('monitor')));
comment on view pgbaton.finished_jobs is
'One row for each job that has ended, with its payload and result; range_id is as in live_jobs. When statistics were
gathered in a nearly empty database, PostgreSQL takes the tables for smaller than they are. As long as they are small, a
query for one id then reads up to some 30,000 rows of history, and one for a range up to some 900 reports a job.
get_job(), find_jobs() and list_jobs() read only what they return.';

create or replace view pgbaton.jobs with (security_barrier) as
select
    l.id, l.queue, l.job_type, l.tags, l.priority, l.singleton_key, l.state, null::text as resolution, l.attempt,
    l.payload, l.created_at, l.run_at, l.claimed_at, l.started_at, null::timestamptz as finished_at, l.worker_id,
    l.retry_count, l.last_error, l.range_id
from pgbaton.live_jobs as l
union all
select
    f.id, f.queue, f.job_type, f.tags, f.priority, f.singleton_key, f.state, f.resolution, f.attempt,
    f.payload, f.created_at, f.run_at, f.claimed_at, f.started_at, f.finished_at, f.worker_id,
    f.retry_count, f.last_error, f.range_id
from pgbaton.finished_jobs as f;
comment on view pgbaton.jobs is
'One row for each job, live or ended; range_id is as in live_jobs. Reads as finished_jobs does.';

create or replace view pgbaton.long_blocked_keys with (security_barrier) as
select
    q.name as queue, b.singleton_key, b.job_id, b.state, b.attempts, b.waiting_count, b.blocked_at, b.noted_at,
    b.ended_at, coalesce(b.ended_at, b.noted_at) - b.blocked_at as blocked_duration
from pgbaton.key_block as b
inner join pgbaton.queue as q on b.queue_id = q.id
where q.name = any(array(select pgbaton.granted_queues('monitor')));
comment on view pgbaton.long_blocked_keys is
'Keys that were blocked for more than five minutes in the last 30 days; ended_at is null for those that still
are.';
