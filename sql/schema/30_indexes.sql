-- claim_job_batch: the claimable spans of a lane in line, of queues with keys or a policy.
create index span_ready_idx on pgbaton.span (lane_id, position) where ready;

-- The backstop of the policies: of a key one job in each place that its policy counts (_slot). It alarms; no call
-- relies on catching its violation. And who holds a key: a job that has the baton and was not claimed yet has a slot
-- that depends on its id, so that there is one equal entry a job: under an old snapshot each unique entry is compared
-- with the dead ones. One index, and the slot a column: each statement that writes a span opens each index and prepares
-- its predicate and expressions anew.
create unique index span_slot_idx on pgbaton.span (queue_id, singleton_key, slot) where slot is not null;

-- _promote: the next job of a key.
create index span_waiting_idx on pgbaton.span (queue_id, singleton_key, key_position)
where state = 'waiting';

-- _make_due: what becomes claimable by the clock. Dead letters and blocked keys: failed jobs have no run_at, so they
-- stand behind all others, each queue's by itself, in the order in which they failed.
create index span_due_idx on pgbaton.span (run_at, queue_id, changed_at, lo)
where not ready and state in ('pending', 'retry', 'unknown_retry', 'failed');

-- _ended_leases: whose lease ended. complete_claim: what a claim still holds.
create index span_lease_idx on pgbaton.span (lease_until) where lease_until is not null;
-- Not the same predicate: else the planner may look for ended leases by reading all of the tokens.
create index span_token_idx on pgbaton.span (lease_token) where lease_token is not null;

-- The other two homes of spans have few indexes, and but for one without a predicate: each statement prepares them all.
-- A cut at the front changes none of these.
alter table pgbaton.ready_span add constraint ready_span_pkey primary key (hi);
create index ready_span_line_idx on pgbaton.ready_span (lane_id, position);
-- Whose lease ended: until somebody else claims the job, who had it may still end it.
create index ready_span_token_idx on pgbaton.ready_span (lease_token) where lease_token is not null;

alter table pgbaton.leased_span add constraint leased_span_pkey primary key (lo);
create index leased_span_lease_idx on pgbaton.leased_span (lease_until);
create index leased_span_token_idx on pgbaton.leased_span (lease_token);

-- _lane_id: the first lane of some labels.
create index lane_labels_idx on pgbaton.lane (queue_id, priority, job_type, tags, id);

create index job_history_lo_idx on pgbaton.job_history (lo);
-- _ended_between: what ended since. It costs an insert a microsecond, and reads a megabyte where it knows no better.
create index job_history_finished_idx on pgbaton.job_history using brin (finished_at)
with (pages_per_range = 64, autosummarize = on);
create index job_error_job_id_idx on pgbaton.job_error (job_id);
create index schedule_queue_id_idx on pgbaton.schedule (queue_id);
create index queue_grant_role_name_idx on pgbaton.queue_grant (role_name);
create index dedup_job_id_idx on pgbaton.dedup (queue_id, job_id);
create index watermark_value_idx on pgbaton.watermark (kind, lane_id, value);
create index rewind_lane_idx on pgbaton.rewind (lane_id, id);
create index baton_release_key_idx on pgbaton.baton_release (queue_id, singleton_key);
-- health: what claims set aside.
create index audit_set_aside_idx on pgbaton.audit (at) where action = 'set_aside';
create index sleeper_worker_id_idx on pgbaton.sleeper (worker_id, id);
create index lease_loss_queue_id_idx on pgbaton.lease_loss (queue_id);

-- What has no primary key: a publication for all tables would make its updates and deletes fail. Nothing is logged for
-- it below wal_level = logical.
alter table pgbaton.job_history replica identity full;
alter table pgbaton.job_history_default replica identity full;
alter table pgbaton.job_error replica identity full;
alter table pgbaton.job_error_default replica identity full;
alter table pgbaton.watermark replica identity full;
alter table pgbaton.lease_loss replica identity full;
