-- Metrics ---------------------------------------------------------------------------------------
create type pgbaton.live_stat as (
    queue text,
    policy pgbaton.queue_policy,
    is_paused boolean,
    pending bigint,
    scheduled bigint,
    waiting bigint,
    processing bigint,
    retrying bigint,
    recovered bigint,
    dlq bigint,
    oldest_ready_age interval,
    blocked_keys bigint,
    longest_block interval,
    max_retry_count integer
);
comment on type pgbaton.live_stat is
'Live jobs of a queue by what they are doing. pending: claimable now; scheduled: run_at in the future; waiting:
behind another job of the key; processing: with a worker; retrying: between two attempts; recovered: taken back
from a worker that was gone, to run again; dlq: failed. blocked_keys: held by a job that has failed or waits to be
retried; longest_block: since the last attempt of such a job; max_retry_count: most retries of such a job.';

create type pgbaton.worker_info as (
    worker_id text,
    capacity integer,
    tags text[],
    started_at timestamptz,
    heartbeat_at timestamptz,
    running_jobs bigint,
    asleep_at timestamptz,
    silent_for interval
);
comment on type pgbaton.worker_info is
'A worker. The columns from its heartbeats are null if it sends none; asleep_at: since when it waits to be
notified; silent_for: time since its last heartbeat.';

create type pgbaton.job_total as (
    queue text,
    counted_at timestamptz,
    enqueued bigint,
    completed bigint,
    failed bigint,
    stopped bigint,
    unscheduled bigint,
    unknown_stopped bigint,
    failed_attempts bigint,
    bounds double precision[],
    run_jobs bigint[],
    run_seconds double precision,
    blocked_jobs bigint[],
    blocked_seconds double precision,
    lease_losses bigint,
    wait_jobs bigint[],
    wait_seconds double precision
);
comment on type pgbaton.job_total is
'What a queue did so far. completed to unknown_stopped: jobs by their final state; bounds: upper bounds, in
seconds, of the classes of the histograms, the last class has none. run: ended jobs by the time from their last
claim to their end; blocked: jobs of FIFO queues that failed at least once by the time from their first failure
until they let their key go. lease_losses: jobs that were taken back because their lease had ended. wait: ended jobs by
the time from when they were enqueued, or were due if that was later, to their last claim; jobs that were enqueued and
ended together by that of the first of them.';

-- Without a foreign key: a queue that is dropped while it is counted would fail the count.
create table pgbaton.job_count (
    queue_id integer not null,
    day date not null,
    name text not null,
    class integer not null,
    jobs bigint not null,
    seconds double precision not null,
    constraint job_count_pkey primary key (queue_id, day, name, class)
);
comment on table pgbaton.job_count is
'What was counted for job_totals: one row for each queue, day of enqueue, kind and class of a histogram. Counts
only grow.';
comment on column pgbaton.job_count.queue_id is 'The queue.';
comment on column pgbaton.job_count.day is 'Day of enqueue; -infinity for all days that are gone, and for enqueued.';
comment on column pgbaton.job_count.name is 'A final state, failed_attempt, blocked, waited or enqueued.';
comment on column pgbaton.job_count.class is 'Class of the histogram; -1 for jobs that never ran.';
comment on column pgbaton.job_count.jobs is 'How many.';
comment on column pgbaton.job_count.seconds is 'Sum of what the histogram is about.';

create table pgbaton.counted_day (
    day date not null constraint counted_day_pkey primary key,
    changes bigint not null,
    counted_at timestamptz not null,
    next_at timestamptz not null
);
comment on table pgbaton.counted_day is
'Days that were counted for job_totals. The row of day -infinity says when all of them were, and when they are
next.';
comment on column pgbaton.counted_day.day is 'Day of enqueue.';
comment on column pgbaton.counted_day.changes is
'Rows ever written to its partitions, so that a day to which nothing happened is not counted again.';
comment on column pgbaton.counted_day.counted_at is 'When it was counted.';
comment on column pgbaton.counted_day.next_at is 'Not counted again before.';
