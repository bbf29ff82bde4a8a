-- Sequences -------------------------------------------------------------------------------------
-- Ids identify: a session draws 64 at a time, so its jobs are neighbours that can share a span.
create sequence pgbaton.job_id_seq as bigint cache 64;
comment on sequence pgbaton.job_id_seq is
'Job ids: unique, rising only within one session.';

-- Positions order: uncached, so they rise with time; 64 apart, one for each job of a span.
create sequence pgbaton.position_seq as bigint increment by 64 minvalue 64;
comment on sequence pgbaton.position_seq is
'Tickets in line, 64 apart: one for each job of a span. Up to 64 keyed jobs of one batch share one for their
order, as long as none of them is claimable.';

create sequence pgbaton.lease_token_seq as bigint cache 16;
comment on sequence pgbaton.lease_token_seq is 'Lease tokens, one for each claim.';

-- A counter that many sessions raise at the same time without waiting for each other.
create sequence pgbaton.wake_up_seq as bigint;
comment on sequence pgbaton.wake_up_seq is 'How many notifications were sent to sleeping workers.';

-- Settings --------------------------------------------------------------------------------------
create table pgbaton.queue (
    id integer generated always as identity (maxvalue 8388607) primary key,
    name text not null constraint queue_name_key unique,
    policy pgbaton.queue_policy not null default 'standard',
    on_exhausted pgbaton.on_exhausted not null default 'block',
    max_attempts integer,
    retry_delay interval not null,
    retry_backoff boolean not null,
    retry_delay_max interval not null,
    backoff_schedule interval[],
    lease interval not null,
    retention interval not null,
    dead_letter_retention interval,
    max_lanes integer not null,
    description text,
    is_paused boolean not null default false,
    created_at timestamptz not null,
    is_limited boolean not null default false
);
comment on table pgbaton.queue is 'Queues and their defaults. Small and read by every call.';
comment on column pgbaton.queue.id is
'Number of the queue; below 2^23 so that id * 256 + stripe is an advisory lock key.';
comment on column pgbaton.queue.name is 'Name, 1 to 63 bytes.';
comment on column pgbaton.queue.policy is 'What jobs of one singleton_key may do at the same time.';
comment on column pgbaton.queue.on_exhausted is 'FIFO queues: what a failed job does to its key.';
comment on column pgbaton.queue.max_attempts is 'Attempts before a job is failed; null is unlimited.';
comment on column pgbaton.queue.retry_delay is 'Wait before the next attempt, the base when it backs off.';
comment on column pgbaton.queue.retry_backoff is 'Exponential with jitter, else constant.';
comment on column pgbaton.queue.retry_delay_max is 'Upper bound of the exponential wait.';
comment on column pgbaton.queue.backoff_schedule is
'Wait before retry 1, 2, …; wins over the other two. The last entry repeats.';
comment on column pgbaton.queue.lease is 'How long a claim holds its jobs unless extended.';
comment on column pgbaton.queue.retention is 'How long finished jobs are kept.';
comment on column pgbaton.queue.dead_letter_retention is 'How long failed jobs are kept; null is for ever.';
comment on column pgbaton.queue.max_lanes is 'Most distinct (priority, job_type, tags) that may be enqueued.';
comment on column pgbaton.queue.description is 'A note for people.';
comment on column pgbaton.queue.is_paused is 'A paused queue takes jobs and hands out none.';
comment on column pgbaton.queue.created_at is 'When it was made.';
comment on column pgbaton.queue.is_limited is 'Whether it has rows in queue_limit.';

create table pgbaton.lane (
    id integer generated always as identity primary key,
    queue_id integer not null references pgbaton.queue (id),
    priority integer not null,
    job_type text not null,
    tags text[] not null,
    has_watermark boolean not null default false
);
comment on table pgbaton.lane is
'One row per distinct (queue, priority, job_type, tags) ever enqueued. A worker''s filter selects lanes, lanes
yield jobs. Never deleted while the queue lives, updated once: when it gets its first watermark. Not unique:
transactions that enqueue the first jobs of the same labels side by side make a lane each, and wait for nobody. Later
ones use the lowest; claims order by priority and position anyway.';
comment on column pgbaton.lane.id is 'Number of the lane.';
comment on column pgbaton.lane.queue_id is 'Its queue.';
comment on column pgbaton.lane.priority is 'Larger is claimed first.';
comment on column pgbaton.lane.job_type is 'Kind of work, chosen by the user.';
comment on column pgbaton.lane.tags is 'Routing labels, sorted and distinct.';
comment on column pgbaton.lane.has_watermark is
'Whether to look for a watermark: most lanes never need one, and a claim looks at many lanes.';

create type pgbaton.lanes as (
    lane_ids integer[], priorities integer[], are_plain boolean[], watermarks bigint[], starts bigint[], heads bigint[]
);
comment on type pgbaton.lanes is
'Lanes for a claim as parallel arrays, null when there are none: whether they are of a standard queue, whose claimable
spans stand in ready_span; their watermark; where their scan starts, which is before it after a rewind; and the first
claimable position, if anybody has looked.';

-- Jobs ------------------------------------------------------------------------------------------
create table pgbaton.job (
    id bigint not null,
    created_at timestamptz not null,
    day date not null,
    lane_id integer not null,
    singleton_key text,
    options pgbaton.job_options,
    payload jsonb not null,
    waits_since timestamptz,
    constraint job_pkey primary key (id, day)
) partition by range (day);
comment on table pgbaton.job is
'What was enqueued: written once. Only change_priority updates it, the lane. One partition a day.';
comment on column pgbaton.job.id is 'Job id.';
comment on column pgbaton.job.created_at is 'When it was enqueued.';
comment on column pgbaton.job.day is 'UTC day of created_at; the partition.';
comment on column pgbaton.job.lane_id is 'Its lane: queue, priority, job type and tags.';
comment on column pgbaton.job.singleton_key is 'Key within its queue; null is unordered.';
comment on column pgbaton.job.options is 'What differs from the queue''s defaults; null if nothing does.';
comment on column pgbaton.job.payload is 'What the worker gets.';
comment on column pgbaton.job.waits_since is
'Of a job that replaced another one: when the first of those that replaced each other was enqueued; else null.';

create table pgbaton.span (
    lo bigint not null constraint span_pkey primary key,
    hi bigint not null,
    position bigint not null,
    key_position bigint,
    lease_token bigint,
    lease_until timestamptz,
    claimed_at timestamptz,
    started_at timestamptz,
    run_at timestamptz,
    changed_at timestamptz,
    day date not null,
    queue_id integer not null,
    lane_id integer not null,
    state pgbaton.job_state not null,
    attempt integer not null default 0,
    extra_attempts integer,
    slot smallint,
    ready boolean not null,
    singleton_key text,
    held_key text,
    worker_id text,
    policy pgbaton.queue_policy
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
comment on table pgbaton.span is
'Live state. A row stands for the jobs lo to hi of one lane, at most 64, that share the same state; live spans never
overlap. The table by itself (only span) has what keys and policies order, and what waits for its time or has failed;
ready_span and leased_span inherit from it and have the rest, so that whoever reads span sees all. A job with a key has
a span of its own, but for neighbours that wait and were never claimed. Only pending, retry and unknown_retry may be
ready. No check constraints hold that: PostgreSQL reads them anew in every statement, 18 % of complete_job.
Spans split and merge: a row is not an address, a job is found by its id.';
comment on column pgbaton.span.lo is 'First job id.';
comment on column pgbaton.span.hi is 'Last job id.';
comment on column pgbaton.span.position is
'Place in line of the last job: job hi - k stands at position - k, so that a cut at the front leaves it as it is. Drawn
anew when a retry or a scheduled job becomes due and when a keyed job gets the baton.';
comment on column pgbaton.span.key_position is
'Place in its key, for ever; null without a key. Job lo + k stands at key_position + k.';
comment on column pgbaton.span.lease_token is 'Token of the claim that holds it.';
comment on column pgbaton.span.lease_until is 'End of that claim.';
comment on column pgbaton.span.claimed_at is 'Last claim, kept afterwards.';
comment on column pgbaton.span.started_at is 'First time a worker said that it runs.';
comment on column pgbaton.span.run_at is 'Not before; null is at once.';
comment on column pgbaton.span.changed_at is
'When a failed job failed or an attempt ended; null before that.';
comment on column pgbaton.span.day is 'Partition of its jobs.';
comment on column pgbaton.span.queue_id is 'Its queue.';
comment on column pgbaton.span.lane_id is 'Its lane.';
comment on column pgbaton.span.state is 'State of its jobs.';
comment on column pgbaton.span.attempt is 'Claims so far that count as attempts.';
comment on column pgbaton.span.extra_attempts is 'Attempts granted by an operator beyond the limit; null is none.';
comment on column pgbaton.span.slot is
'What it takes of its key, see _slot: of one key there is one row for each. Null when its key has room for any number
of such jobs.';
comment on column pgbaton.span.ready is 'True exactly when it may be claimed now.';
comment on column pgbaton.span.singleton_key is 'Key of the jobs; a span of one unless they wait.';
comment on column pgbaton.span.held_key is 'The key whose baton it holds, else null.';
comment on column pgbaton.span.worker_id is 'Who claimed it last.';
comment on column pgbaton.span.policy is
'Policy of its queue when that is short, singleton, stately or exclusive.';

create table pgbaton.ready_span ()
inherits (pgbaton.span)
with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
comment on table pgbaton.ready_span is
'Claimable spans of standard queues. Claims cut them at the front, in place and without an index entry: neither lo nor
anything else that is indexed changes.';

create table pgbaton.leased_span ()
inherits (pgbaton.span)
with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
comment on table pgbaton.leased_span is 'Spans of standard queues that are with a worker.';

-- For those who only read: what is claimable, and what is leased, wherever it stands.
create view pgbaton.claimable_span as
select s.* from only pgbaton.span as s where s.ready  -- noqa: PRS, RF01
union all
select s.* from pgbaton.ready_span as s;
comment on view pgbaton.claimable_span is 'The spans of all queues that may be claimed now.';

create view pgbaton.held_span as
select s.* from only pgbaton.span as s where s.lease_until is not null  -- noqa: PRS, RF01
union all
select s.* from pgbaton.leased_span as s;
comment on view pgbaton.held_span is 'The spans of all queues that are with a worker.';

create table pgbaton.job_history (
    lo bigint not null,
    hi bigint not null,
    claimed_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz not null,
    run_at timestamptz,
    lease_token bigint,
    day date not null,
    queue_id integer not null,
    lane_id integer not null,
    state pgbaton.job_state not null,
    attempt integer not null,
    extra_attempts integer,
    worker_id text,
    resolution text
) partition by range (day);
comment on table pgbaton.job_history is
'Final spans: the jobs lo to hi ended together. One partition a day of enqueue.';
comment on column pgbaton.job_history.lo is 'First job id.';
comment on column pgbaton.job_history.hi is 'Last job id.';
comment on column pgbaton.job_history.claimed_at is 'Last claim.';
comment on column pgbaton.job_history.started_at is 'First time a worker said that it runs.';
comment on column pgbaton.job_history.finished_at is 'When they reached their final state.';
comment on column pgbaton.job_history.run_at is 'Not before; null was at once.';
comment on column pgbaton.job_history.lease_token is 'Of unknown_stopped: who may still complete it.';
comment on column pgbaton.job_history.day is 'UTC day of enqueue; the partition.';
comment on column pgbaton.job_history.queue_id is 'Their queue.';
comment on column pgbaton.job_history.lane_id is 'Their lane.';
comment on column pgbaton.job_history.state is 'Final state; failed when an operator resolved a failed job.';
comment on column pgbaton.job_history.attempt is 'Attempts made.';
comment on column pgbaton.job_history.extra_attempts is 'Attempts granted by an operator; null is none.';
comment on column pgbaton.job_history.worker_id is 'Who claimed them last.';
comment on column pgbaton.job_history.resolution is
'skipped or deleted by an operator, or replaced by a later job; null: they ended by themselves or were cancelled.';

create table pgbaton.job_report (
    job_id bigint not null,
    last_retry_at timestamptz,
    day date not null,
    progress integer,
    events_count integer,
    retry_count integer not null default 0,
    current_stage text,
    last_error text,
    result jsonb,
    constraint job_report_pkey primary key (job_id, day)
) partition by range (day);
comment on table pgbaton.job_report is
'What a job has to say: one row for each job that reported, failed or left a result.';
comment on column pgbaton.job_report.job_id is 'Job id.';
comment on column pgbaton.job_report.last_retry_at is 'When it last went to retry.';
comment on column pgbaton.job_report.day is 'UTC day of enqueue; the partition.';
comment on column pgbaton.job_report.progress is 'Percent done, 0 to 100.';
comment on column pgbaton.job_report.events_count is 'Events counted by the worker.';
comment on column pgbaton.job_report.retry_count is 'How often it went to retry.';
comment on column pgbaton.job_report.current_stage is 'What the worker is doing.';
comment on column pgbaton.job_report.last_error is 'Last error message.';
comment on column pgbaton.job_report.result is 'What the worker returned.';

create table pgbaton.job_error (
    job_id bigint not null,
    failed_at timestamptz not null,
    day date not null,
    attempt integer not null,
    worker_id text,
    message text not null,
    claimed_at timestamptz,
    stack text
) partition by range (day);
comment on table pgbaton.job_error is 'One row for each failed attempt.';
comment on column pgbaton.job_error.job_id is 'Job id.';
comment on column pgbaton.job_error.failed_at is 'When the attempt failed.';
comment on column pgbaton.job_error.day is 'UTC day of enqueue; the partition.';
comment on column pgbaton.job_error.attempt is 'Which attempt.';
comment on column pgbaton.job_error.worker_id is 'Who made it.';
comment on column pgbaton.job_error.message is 'Error message.';
comment on column pgbaton.job_error.claimed_at is 'When the attempt was claimed.';
comment on column pgbaton.job_error.stack is 'Where it failed, as the worker said; null if it did not.';

-- The net: a missing day never makes an enqueue or a completion fail.
create table pgbaton.job_default partition of pgbaton.job default;
create table pgbaton.job_history_default partition of pgbaton.job_history default;
create table pgbaton.job_report_default partition of pgbaton.job_report default;
create table pgbaton.job_error_default partition of pgbaton.job_error default;
comment on table pgbaton.job_default is 'Jobs of days without a partition.';
comment on table pgbaton.job_history_default is 'History of days without a partition.';
comment on table pgbaton.job_report_default is 'Reports of days without a partition.';
comment on table pgbaton.job_error_default is 'Errors of days without a partition.';

create table pgbaton.dedup (
    queue_id integer not null,
    dedup_id text not null,
    job_id bigint not null,
    created_at timestamptz not null,
    constraint dedup_pkey primary key (queue_id, dedup_id)
);
comment on table pgbaton.dedup is 'Ids that producers gave to their jobs, so that a job is enqueued once.';
comment on column pgbaton.dedup.queue_id is 'Queue within which the id is unique.';
comment on column pgbaton.dedup.dedup_id is 'The producer''s id.';
comment on column pgbaton.dedup.job_id is 'The job it became.';
comment on column pgbaton.dedup.created_at is 'When.';

create table pgbaton.kv (
    key text[] not null,
    value jsonb not null,
    updated_at timestamptz not null,
    queue_id integer not null default 0,
    constraint kv_pkey primary key (key, queue_id)
);
comment on table pgbaton.kv is
'Payloads of jobs that failed for good, under the keys_if_undelivered of each.';
comment on column pgbaton.kv.key is 'Key path.';
comment on column pgbaton.kv.value is 'Payload of the job.';
comment on column pgbaton.kv.updated_at is 'When it was stored.';
comment on column pgbaton.kv.queue_id is
'Queue of the job, so that no other queue replaces what is stored; 0 is none.';
