create type pgbaton.queue_policy as enum (
    'standard', 'short', 'singleton', 'stately', 'exclusive', 'fifo'
);
comment on type pgbaton.queue_policy is
'What jobs of a queue that share a singleton_key may do side by side.
standard: the key has no meaning; short: at most one of a key waits to run; singleton: at most one runs;
stately: at most one in each state; exclusive: at most one at all; fifo: they run one at a time in enqueue
order.';

create type pgbaton.on_exhausted as enum ('block', 'continue');
comment on type pgbaton.on_exhausted is
'What a failed job of a FIFO queue does to its key.
block: it holds the key until it completes after a retry, or an operator skips or deletes it; continue: the next job
of the key runs.';

create type pgbaton.job_state as enum (
    'waiting', 'pending', 'active', 'retry', 'unknown_retry', 'cancelling', 'failed',
    'completed', 'stopped', 'unscheduled', 'unknown_stopped'
);
comment on type pgbaton.job_state is
'State of a job. Live: waiting, pending, active, retry, unknown_retry, cancelling, failed. Final: completed,
stopped, unscheduled, unknown_stopped.';

create type pgbaton.job_options as (
    max_attempts integer,
    retry_delay interval,
    retry_backoff boolean,
    backoff_schedule interval[],
    keys_if_undelivered jsonb,
    headers jsonb
);
comment on type pgbaton.job_options is
'Options of one job that differ from those of its queue; a null field means the queue decides. headers: texts by
name that travel with the job, for example a trace context; null is none.';

create type pgbaton.claimed_job as (
    id bigint,
    queue text,
    job_type text,
    tags text[],
    priority integer,
    singleton_key text,
    attempt integer,
    max_attempts integer,
    payload jsonb,
    created_at timestamptz,
    run_at timestamptz,
    claimed_at timestamptz,
    lease_until timestamptz,
    lease_token bigint,
    headers jsonb
);
comment on type pgbaton.claimed_job is
'A job leased to a worker. max_attempts null means unlimited; lease_token fences every later write;
headers null means none.';

create type pgbaton.job_info as (
    id bigint,
    queue text,
    job_type text,
    tags text[],
    priority integer,
    singleton_key text,
    attempt integer,
    max_attempts integer,
    payload jsonb,
    created_at timestamptz,
    run_at timestamptz,
    claimed_at timestamptz,
    lease_until timestamptz,
    lease_token bigint,
    state pgbaton.job_state,
    result jsonb,
    error_message text,
    progress integer,
    current_stage text,
    events_count integer,
    retry_count integer,
    last_retry_at timestamptz,
    worker_id text,
    started_at timestamptz,
    finished_at timestamptz,
    holds_key boolean,
    dedup_id text,
    resolution text,
    headers jsonb
);
comment on type pgbaton.job_info is
'All that is known of one job, live or final. worker_id and claimed_at are those of its last claim.';

create type pgbaton.job_outcome as (
    job_id bigint,
    state pgbaton.job_state,
    resolution text,
    result jsonb,
    error_message text,
    ended_at timestamptz
);
comment on type pgbaton.job_outcome is
'How a job ended: its final state, or failed for a dead letter, which an operator may still run again; its result and
last error. A state of null: there is no such job.';

create type pgbaton.verdict as (
    ordinal integer,
    job_id bigint,
    verdict text
);
comment on type pgbaton.verdict is
'What a batch call did with its ordinal-th job: ok, lease_lost, cancel_requested, invalid_state or not_found.';

create type pgbaton.next_job as (
    verdict text,
    ordinal integer,
    id bigint,
    queue text,
    job_type text,
    tags text[],
    priority integer,
    singleton_key text,
    attempt integer,
    max_attempts integer,
    payload jsonb,
    created_at timestamptz,
    run_at timestamptz,
    claimed_at timestamptz,
    lease_until timestamptz,
    lease_token bigint,
    headers jsonb
);
comment on type pgbaton.next_job is
'A row of complete_and_claim. verdict claimed: a job that is leased now, as in claimed_job; ordinal is null. Any other
verdict: the ordinal-th of the job_ids was not completed; id is that job, and what follows is null.';

create type pgbaton.enqueue_outcome as (
    ordinal integer,
    job_id bigint,
    outcome text
);
comment on type pgbaton.enqueue_outcome is
'What enqueue_jobs did with its ordinal-th job: enqueued, duplicate (job_id is the earlier job), replaced (it stands in
the place of an earlier one), behind (an earlier one was claimed and has not ended: it waits as the policy of the queue
says), or "rejected: " and why (the policy allows no further job of the key, and job_id is null).';

create type pgbaton.queue_info as (
    queue text,
    policy pgbaton.queue_policy,
    on_exhausted pgbaton.on_exhausted,
    max_attempts integer,
    retry_delay interval,
    retry_backoff boolean,
    retry_delay_max interval,
    backoff_schedule interval[],
    lease interval,
    retention interval,
    dead_letter_retention interval,
    max_lanes integer,
    description text,
    is_paused boolean,
    created_at timestamptz
);
comment on type pgbaton.queue_info is 'A queue and its settings.';

create type pgbaton.limit_kind as enum ('running', 'rate', 'burst', 'key', 'key_rate', 'key_burst');
comment on type pgbaton.limit_kind is
'What a limit of a queue counts. running: jobs that are with workers; rate: starts within an interval; burst: starts
within a part of that interval; key: jobs of one key that are with workers; key_rate: starts of one key within an
interval; key_burst: the same within a part of that interval.';

create type pgbaton.queue_limits as (
    queue text,
    max_running integer,
    running bigint,
    key_limit integer,
    rate_count integer,
    rate_interval interval,
    rate_burst integer,
    next_start_at timestamptz,
    key_rate_count integer,
    key_rate_interval interval,
    key_rate_burst integer
);
comment on type pgbaton.queue_limits is
'The limits of a queue. running: jobs that are with workers now, null without max_running. next_start_at: when the rate
of the queue lets the next job start, null when it does now or when there is no rate.';

create type pgbaton.blocked_key as (
    queue text,
    singleton_key text,
    job_id bigint,
    state pgbaton.job_state,
    blocked_since timestamptz,
    attempts integer,
    last_error text,
    waiting_count bigint,
    next_run_at timestamptz
);
comment on type pgbaton.blocked_key is
'A key of a FIFO queue and the job that holds it. waiting_count jobs stand behind it; next_run_at is when the
holder runs again by itself, null if it will not.';

create type pgbaton.queue_stat as (
    queue text,
    pending bigint,
    scheduled bigint,
    waiting bigint,
    processing bigint,
    retrying bigint,
    dlq bigint,
    completed bigint,
    total bigint,
    oldest_ready_age interval
);
comment on type pgbaton.queue_stat is
'Jobs of a queue by what they are doing. pending: claimable now; scheduled: run_at in the future;
waiting: behind another job of the key; retrying: between two attempts; dlq: failed; total: all live jobs.';

create type pgbaton.job_stats as (
    tags text[],
    total_jobs bigint,
    pending_jobs bigint,
    running_jobs bigint,
    completed_jobs bigint,
    stopped_jobs bigint,
    failed_jobs bigint,
    total_retries bigint
);
comment on type pgbaton.job_stats is
'Jobs that carry all of the tags. stopped_jobs: final but not completed; failed_jobs: retrying, recovered or
failed.';

create type pgbaton.dead_job as (
    id bigint,
    queue text,
    job_type text,
    tags text[],
    singleton_key text,
    payload jsonb,
    attempts integer,
    error_message text,
    created_at timestamptz,
    failed_at timestamptz,
    holds_key boolean
);
comment on type pgbaton.dead_job is
'A failed job: its payload, its last error, and whether it holds up its key.';

create type pgbaton.kv_entry as (
    key text[],
    value jsonb,
    updated_at timestamptz
);
comment on type pgbaton.kv_entry is 'A payload stored under a key path when its job failed for good.';

create type pgbaton.subscription_info as (
    queue text,
    topic_pattern text,
    created_at timestamptz
);
comment on type pgbaton.subscription_info is 'Which topics a queue is subscribed to.';

create type pgbaton.fifo_stat as (
    queue text,
    singleton_key text,
    queue_depth bigint,
    current_job_id bigint,
    current_state pgbaton.job_state,
    current_retry_count integer,
    blocked_duration interval,
    is_paused boolean
);
comment on type pgbaton.fifo_stat is
'A key of a FIFO queue: how many jobs it has, which one holds it, how often that one was retried, and since
when it holds the others up.';

create type pgbaton.health_check as (
    check_name text,
    status text,
    detail text
);
comment on type pgbaton.health_check is
'A check of health(): status is ok, warn or bad; detail says what to do.';

create type pgbaton.schedule_info as (
    name text,
    queue text,
    cron text,
    time_zone text,
    payload jsonb,
    priority integer,
    singleton_key text,
    job_type text,
    tags text[],
    missed_runs text,
    is_paused boolean,
    next_run_at timestamptz,
    last_run_at timestamptz,
    last_job_id bigint,
    last_error text
);
comment on type pgbaton.schedule_info is
'A schedule: what it enqueues, when it does so next and what it did last.';
