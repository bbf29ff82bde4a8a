-- claim_job_batch: the claimable spans of a lane in line.
create index span_ready_idx on pgbaton.span (lane_id, position) where ready;

-- The FIFO backstop: one holder a key. It alarms; no call relies on catching its violation.
create unique index span_held_key_idx on pgbaton.span (queue_id, held_key)
where held_key is not null;

-- The backstops of the other policies. What is queued was never claimed: a job that was is in retry,
-- also while it waits in line. One that was given back without an attempt is neither.
create unique index span_short_idx on pgbaton.span (queue_id, singleton_key)
where policy = 'short' and state = 'pending';
create unique index span_singleton_idx on pgbaton.span (queue_id, singleton_key)
where policy = 'singleton' and state in ('active', 'cancelling');
create unique index span_stately_queued_idx on pgbaton.span (queue_id, singleton_key)
where policy = 'stately' and state in ('pending', 'waiting') and claimed_at is null;
create unique index span_stately_retry_idx on pgbaton.span (queue_id, singleton_key)
where policy = 'stately' and state in ('retry', 'unknown_retry', 'waiting') and attempt > 0;
create unique index span_stately_active_idx on pgbaton.span (queue_id, singleton_key)
where policy = 'stately' and state in ('active', 'cancelling');
create unique index span_exclusive_idx on pgbaton.span (queue_id, singleton_key)
where policy = 'exclusive' and state in ('pending', 'retry', 'unknown_retry', 'active', 'cancelling');

-- _promote: the next job of a key.
create index span_waiting_idx on pgbaton.span (queue_id, singleton_key, key_position)
where state = 'waiting';

-- _make_due: what becomes claimable by the clock.
create index span_due_idx on pgbaton.span (run_at)
where not ready and state in ('pending', 'retry', 'unknown_retry');

-- _ended_leases: whose lease ended. complete_claim: what a claim still holds.
create index span_lease_idx on pgbaton.span (lease_until) where state in ('active', 'cancelling');
create index span_token_idx on pgbaton.span (lease_token) where state in ('active', 'cancelling');

-- Dead letters and blocked keys.
create index span_failed_idx on pgbaton.span (queue_id, lo) where state = 'failed';

create index job_history_lo_idx on pgbaton.job_history (lo);
create index job_error_job_id_idx on pgbaton.job_error (job_id);
create index schedule_queue_id_idx on pgbaton.schedule (queue_id);
create index dedup_job_id_idx on pgbaton.dedup (job_id);
create index watermark_value_idx on pgbaton.watermark (kind, lane_id, value);
create index rewind_lane_idx on pgbaton.rewind (lane_id, position);
create index baton_release_key_idx on pgbaton.baton_release (queue_id, singleton_key);
