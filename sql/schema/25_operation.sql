-- Order, recovery and operation -----------------------------------------------------------------
create table pgbaton.baton_release (
    id bigint not null constraint baton_release_pkey primary key,
    queue_id integer not null,
    singleton_key text,
    parent_id bigint
);
create sequence pgbaton.baton_release_id_seq as bigint owned by pgbaton.baton_release.id;
comment on sequence pgbaton.baton_release_id_seq is 'Numbers of baton_release and rewind.';
-- The transaction id first, then the number: see _note_horizon.
alter table pgbaton.baton_release alter column id set default
case when pg_current_xact_id() is not null then nextval('pgbaton.baton_release_id_seq') end;
create sequence pgbaton.release_floor_seq as bigint;
comment on sequence pgbaton.release_floor_seq is
'No row of baton_release and no rewind below this number is left to be read by claims, but for what _sweep finds. A
sequence, since its value belongs to no transaction and leaves no dead row.';
comment on table pgbaton.baton_release is
'Keys whose baton was let go while a producer of the key was still open, keys that were resumed, and jobs that ended, or
may have ended, for which others wait. The next claim passes the baton on, and lets those go that wait no more.';
comment on column pgbaton.baton_release.id is 'Number.';
comment on column pgbaton.baton_release.queue_id is 'Queue of the key.';
comment on column pgbaton.baton_release.singleton_key is
'The key; empty with a parent_id; null: all keys of the queue that failed jobs hold.';
comment on column pgbaton.baton_release.parent_id is 'The job that others wait for; null: none.';

create table pgbaton.paused_key (
    queue_id integer not null references pgbaton.queue (id),
    singleton_key text not null,
    paused_at timestamptz not null,
    constraint paused_key_pkey primary key (queue_id, singleton_key)
);
comment on table pgbaton.paused_key is 'Keys of which no job is handed out until resume_key.';
comment on column pgbaton.paused_key.queue_id is 'Queue of the key.';
comment on column pgbaton.paused_key.singleton_key is 'The key.';
comment on column pgbaton.paused_key.paused_at is 'Since when.';

create table pgbaton.subscription (
    queue_id integer not null references pgbaton.queue (id),
    topic_pattern text not null,
    created_at timestamptz not null,
    constraint subscription_pkey primary key (queue_id, topic_pattern)
);
comment on table pgbaton.subscription is 'Which queues get a job for what is published to a topic.';
comment on column pgbaton.subscription.queue_id is 'The queue.';
comment on column pgbaton.subscription.topic_pattern is
'Words with dots between; * stands for one word, # for any number.';
comment on column pgbaton.subscription.created_at is 'Since when.';

-- Without a foreign key: a queue that is dropped while it is looked at would fail maintenance.
create table pgbaton.key_block (
    queue_id integer not null,
    singleton_key text not null,
    job_id bigint not null,
    blocked_at timestamptz not null,
    noted_at timestamptz not null,
    ended_at timestamptz,
    state pgbaton.job_state not null,
    attempts integer not null,
    waiting_count bigint not null,
    constraint key_block_pkey primary key (queue_id, singleton_key, job_id)
);
comment on table pgbaton.key_block is
'Log of keys that were blocked for more than five minutes, kept by run_maintenance.';
comment on column pgbaton.key_block.queue_id is 'Queue of the key.';
comment on column pgbaton.key_block.singleton_key is 'The key.';
comment on column pgbaton.key_block.job_id is 'The job that held it.';
comment on column pgbaton.key_block.blocked_at is 'Since when.';
comment on column pgbaton.key_block.noted_at is 'When it was seen last.';
comment on column pgbaton.key_block.ended_at is 'When it was seen to be over; null while it lasts.';
comment on column pgbaton.key_block.state is 'State of the job when seen last.';
comment on column pgbaton.key_block.attempts is 'Attempts of the job when seen last.';
comment on column pgbaton.key_block.waiting_count is 'Jobs behind it when seen last.';

create table pgbaton.schedule (
    name text not null constraint schedule_pkey primary key,
    queue_id integer not null references pgbaton.queue (id),
    cron text not null,
    time_zone text not null,
    payload jsonb not null,
    priority integer not null,
    singleton_key text,
    job_type text not null,
    tags text[] not null,
    missed_runs text not null,
    is_paused boolean not null default false,
    next_run_at timestamptz not null,
    last_run_at timestamptz,
    last_job_id bigint,
    last_error text,
    created_at timestamptz not null,
    constraint schedule_missed_runs_check check (missed_runs in ('coalesce', 'skip', 'all'))
);
comment on table pgbaton.schedule is
'Jobs that run_maintenance enqueues at times given by a cron expression.';
comment on column pgbaton.schedule.name is 'Name.';
comment on column pgbaton.schedule.queue_id is 'Where the jobs go.';
comment on column pgbaton.schedule.cron is 'minute hour day month weekday.';
comment on column pgbaton.schedule.time_zone is 'Zone in which the expression is read.';
comment on column pgbaton.schedule.payload is 'Payload of each job.';
comment on column pgbaton.schedule.priority is 'Priority of each job.';
comment on column pgbaton.schedule.singleton_key is 'Key of each job.';
comment on column pgbaton.schedule.job_type is 'Job type of each job.';
comment on column pgbaton.schedule.tags is 'Tags of each job.';
comment on column pgbaton.schedule.missed_runs is
'What becomes of times that passed without maintenance: coalesce, one job; skip, none; all, one each.';
comment on column pgbaton.schedule.is_paused is 'Enqueues nothing.';
comment on column pgbaton.schedule.next_run_at is 'When it enqueues next.';
comment on column pgbaton.schedule.last_run_at is 'When it last enqueued.';
comment on column pgbaton.schedule.last_job_id is 'What it last enqueued.';
comment on column pgbaton.schedule.last_error is 'Why it last could not.';
comment on column pgbaton.schedule.created_at is 'When it was made.';

create sequence pgbaton.grant_seq as bigint;
comment on sequence pgbaton.grant_seq is
'Drawn from with each grant. A sequence, since its value belongs to no transaction: where it never was drawn from nobody
is narrowed, which each call then knows without a look at a table.';

create table pgbaton.queue_grant (
    queue_id integer not null references pgbaton.queue (id),
    role_name name not null,
    action text not null,
    granted_at timestamptz not null,
    constraint queue_grant_pkey primary key (queue_id, role_name, action),
    constraint queue_grant_action_check check (action in ('enqueue', 'work', 'operate', 'monitor'))
);
comment on table pgbaton.queue_grant is
'Narrows a role to named queues: a role with a grant here, or a member of one, may do only what its grants say.';
comment on column pgbaton.queue_grant.queue_id is 'The queue.';
comment on column pgbaton.queue_grant.role_name is 'The role.';
comment on column pgbaton.queue_grant.action is 'enqueue, work, operate or monitor.';
comment on column pgbaton.queue_grant.granted_at is 'When.';

-- Asleep and waiting to be notified. Never updated in place and read from sleeper_floor_seq on: see _sleepers_from.
create sequence pgbaton.sleeper_id_seq as bigint;
comment on sequence pgbaton.sleeper_id_seq is 'Numbers of sleeper rows, uncached, so that they rise with time.';

create sequence pgbaton.sleeper_floor_seq as bigint;
comment on sequence pgbaton.sleeper_floor_seq is
'No sleeper row below this number counts. A sequence, since its value belongs to no transaction and leaves no dead
row.';

create table pgbaton.sleeper (
    id bigint not null constraint sleeper_pkey primary key,
    worker_id text not null,
    role_name text not null,
    channel text not null,
    queue_ids integer[],
    job_types text[],
    tags text[] not null,
    asleep_at timestamptz not null,
    asleep_until timestamptz not null,
    registered_by xid8 not null,
    seen_from xid8,
    is_settled boolean not null default false
);
comment on table pgbaton.sleeper is
'Workers that wait for work, and what they wait for. Who makes a job claimable notifies those that it concerns and
deletes their rows: a worker that was notified and has not come back is notified by nobody else.';
comment on column pgbaton.sleeper.id is 'Number: a new one each time that the row is written.';
comment on column pgbaton.sleeper.worker_id is 'The worker.';
comment on column pgbaton.sleeper.role_name is 'Role that called: another role''s worker of this name is another one.';
comment on column pgbaton.sleeper.channel is 'Channel it listens on.';
comment on column pgbaton.sleeper.queue_ids is 'Queues it asks for; null is all.';
comment on column pgbaton.sleeper.job_types is 'Job types it asks for; null is all.';
comment on column pgbaton.sleeper.tags is 'Tags it asks for.';
comment on column pgbaton.sleeper.asleep_at is 'Since when.';
comment on column pgbaton.sleeper.asleep_until is 'When it looks for work without being woken.';
comment on column pgbaton.sleeper.registered_by is 'Transaction that wrote it first.';
comment on column pgbaton.sleeper.seen_from is
'Who makes jobs claimable in a transaction with this id or a later one has seen the row. Null while nobody can tell.';
comment on column pgbaton.sleeper.is_settled is
'Whether everybody who makes jobs claimable has seen it, or ended before its worker last looked.';

create table pgbaton.channel_secret (
    is_only boolean not null default true constraint channel_secret_pkey primary key
    constraint channel_secret_is_only_check check (is_only),
    secret text not null
);
comment on table pgbaton.channel_secret is
'At most one row, made when the first worker sleeps: without it nobody can tell the channel of another role''s worker.';
comment on column pgbaton.channel_secret.is_only is 'Always true.';
comment on column pgbaton.channel_secret.secret is 'Random.';

create table pgbaton.heal_place (
    is_only boolean not null default true constraint heal_place_pkey primary key
    constraint heal_place_is_only_check check (is_only),
    queue_id integer not null,
    singleton_key text not null
);
comment on table pgbaton.heal_place is
'At most one row: the key at which run_maintenance last stopped looking for keys to heal.';
comment on column pgbaton.heal_place.is_only is 'Always true.';
comment on column pgbaton.heal_place.queue_id is 'Queue of that key.';
comment on column pgbaton.heal_place.singleton_key is 'The key.';

create table pgbaton.watermark (
    kind text not null,
    lane_id integer not null,
    value bigint not null,
    below_xid xid8 not null,
    recorded_at timestamptz not null
);
comment on table pgbaton.watermark is
'Lower bounds where a scan may start, so that dead index entries in front of it cost nothing under an old
snapshot. Insert-only and read from the top (the highest value counts): a row that is updated often would
itself melt.
kind lane: no claimable span of the lane stands below value. kind horizon: all positions up to value were
drawn by transactions older than below_xid. kind due, kind lease: nothing due, no lease ended, before value
(microseconds).
kind sweep, kind maintenance: when the thorough upkeep ran, when run_maintenance did. kind partitions, kind
retention: when partitions, when days that are over were last tried. kind clock: the latest time that a clock showed
which was set back since, noted when that was noticed.';
comment on column pgbaton.watermark.kind is
'lane, horizon, due, lease, sweep, maintenance, partitions, retention or clock.';
comment on column pgbaton.watermark.lane_id is 'Lane of kind lane; of kind clock 1 once that was mended; else 0.';
comment on column pgbaton.watermark.value is 'The bound: a position, or microseconds since 1970.';
comment on column pgbaton.watermark.below_xid is
'The bound is proven once every transaction below this one has ended.';
comment on column pgbaton.watermark.recorded_at is 'When it was noted.';

create table pgbaton.rewind (
    -- As that of baton_release, and from the same sequence, so that one watermark holds for both.
    id bigint not null default case
        when pg_current_xact_id() is not null then nextval('pgbaton.baton_release_id_seq')
    end constraint rewind_pkey primary key,
    lane_id integer not null,
    position bigint not null
);
comment on table pgbaton.rewind is
'Positions below a lane''s watermark that became claimable again (released or recovered jobs). Scans start
there until they are gone.';
comment on column pgbaton.rewind.id is 'Number: a new one each time that the row is written.';
comment on column pgbaton.rewind.lane_id is 'The lane.';
comment on column pgbaton.rewind.position is 'Where to start.';

-- Insert-only, so that claims which take jobs back wait for nobody. Without a foreign key, which would lock the queue
-- after its jobs.
create table pgbaton.lease_loss (
    queue_id integer not null,
    jobs bigint not null
);
comment on table pgbaton.lease_loss is
'How many jobs were taken back because their lease had ended. The sum of a queue is what counts: run_maintenance
puts its rows together.';
comment on column pgbaton.lease_loss.queue_id is 'Their queue.';
comment on column pgbaton.lease_loss.jobs is 'How many.';

create table pgbaton.upkeep_failure (
    name text not null constraint upkeep_failure_pkey primary key,
    failed_since timestamptz not null,
    failed_at timestamptz not null,
    code text not null,
    message text not null
);
comment on table pgbaton.upkeep_failure is
'Steps of the upkeep that fail, with what of them where that is known; gone when they were done.';
comment on column pgbaton.upkeep_failure.name is 'The step, in quotes the row of it: a job, a key, a schedule, a day.';
comment on column pgbaton.upkeep_failure.failed_since is 'When it first failed.';
comment on column pgbaton.upkeep_failure.failed_at is 'When it last failed.';
comment on column pgbaton.upkeep_failure.code is 'SQLSTATE of the last error.';
comment on column pgbaton.upkeep_failure.message is 'The last error.';

create table pgbaton.worker (
    worker_id text not null,
    capacity integer,
    tags text[] not null default '{}',
    started_at timestamptz not null,
    heartbeat_at timestamptz not null,
    queue_ids integer[] not null default '{}',
    constraint worker_pkey primary key (worker_id, queue_ids)
) with (fillfactor = 50);
comment on table pgbaton.worker is 'Workers that sent a heartbeat: one row a worker, not one a job.';
comment on column pgbaton.worker.worker_id is 'Name the worker gave itself.';
comment on column pgbaton.worker.capacity is 'How many jobs it can run at once.';
comment on column pgbaton.worker.tags is 'Tags it asks for.';
comment on column pgbaton.worker.started_at is 'First heartbeat.';
comment on column pgbaton.worker.heartbeat_at is 'Last heartbeat.';
comment on column pgbaton.worker.queue_ids is
'Queues to which grants narrow it, {} for none: who is narrowed to others cannot send heartbeats in its name.';

create table pgbaton.audit (
    id bigint generated always as identity constraint audit_pkey primary key,
    at timestamptz not null,
    actor text not null,
    action text not null,
    queue text,
    job_id bigint,
    singleton_key text,
    reason text
);
comment on table pgbaton.audit is 'Operator actions: who, when, what, why.';
comment on column pgbaton.audit.id is 'Number.';
comment on column pgbaton.audit.at is 'When.';
comment on column pgbaton.audit.actor is 'Role that called.';
comment on column pgbaton.audit.action is 'Function that was called.';
comment on column pgbaton.audit.queue is 'Queue concerned.';
comment on column pgbaton.audit.job_id is 'Job concerned.';
comment on column pgbaton.audit.singleton_key is 'Key concerned.';
comment on column pgbaton.audit.reason is 'Why, as the operator said.';
