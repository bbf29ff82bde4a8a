-- claim_job_batch: the claimable spans of a lane in line.
create index span_ready_idx on pgbaton.span (lane_id, position) where ready;

-- The FIFO backstop: of a key one job runs, is between attempts or failed. It alarms; no call relies on catching its
-- violation. A job that has the baton and was not claimed yet stands in an index of its own, not unique: under an old
-- snapshot each unique entry is compared with the dead ones of all earlier jobs of its key, and so there is one a job.
create unique index span_held_key_idx on pgbaton.span (queue_id, held_key)
where held_key is not null and state <> 'pending';
create index span_pending_key_idx on pgbaton.span (queue_id, held_key)
where held_key is not null and state = 'pending';

-- The backstop of the other policies: one job of a key in each place that the policy counts. One index for all of them,
-- because every insert into span prepares the predicate of each partial index: six of them cost about 3 µs a statement.
-- What is queued was never claimed: a job that was is in retry, also while it waits in line. One that was given back
-- without an attempt is neither.
create unique index span_policy_idx on pgbaton.span (
    queue_id, singleton_key, (
        case policy
            when 'short' then case when state = 'pending' then 'queued' end
            when 'singleton' then case when state in ('active', 'cancelling') then 'active' end
            when 'stately'
                then
                    case
                        when state in ('active', 'cancelling') then 'active'
                        when state in ('pending', 'waiting') and claimed_at is null then 'queued'
                        when state in ('retry', 'unknown_retry', 'waiting') and attempt > 0 then 'retry'
                    end
            when 'exclusive' then case
                when state in ('pending', 'retry', 'unknown_retry', 'active', 'cancelling') then 'live'
            end
        end
    )
) where policy is not null;

-- _promote: the next job of a key.
create index span_waiting_idx on pgbaton.span (queue_id, singleton_key, key_position)
where state = 'waiting';

-- _make_due: what becomes claimable by the clock.
create index span_due_idx on pgbaton.span (run_at)
where not ready and state in ('pending', 'retry', 'unknown_retry');

-- _ended_leases: whose lease ended. complete_claim: what a claim still holds.
create index span_lease_idx on pgbaton.span (lease_until) where state in ('active', 'cancelling');
-- Not the same predicate: else the planner may look for ended leases by reading all of the tokens.
create index span_token_idx on pgbaton.span (lease_token) where lease_token is not null;

-- Dead letters and blocked keys.
create index span_failed_idx on pgbaton.span (queue_id, lo) where state = 'failed';

create index job_history_lo_idx on pgbaton.job_history (lo);
create index job_error_job_id_idx on pgbaton.job_error (job_id);
create index schedule_queue_id_idx on pgbaton.schedule (queue_id);
create index dedup_job_id_idx on pgbaton.dedup (job_id);
create index watermark_value_idx on pgbaton.watermark (kind, lane_id, value);
create index rewind_lane_idx on pgbaton.rewind (lane_id, position);
create index baton_release_key_idx on pgbaton.baton_release (queue_id, singleton_key);
create index lease_loss_queue_id_idx on pgbaton.lease_loss (queue_id);

-- What has no primary key: a publication for all tables would make its updates and deletes fail. Nothing is logged for
-- it below wal_level = logical.
alter table pgbaton.job_history replica identity full;
alter table pgbaton.job_history_default replica identity full;
alter table pgbaton.job_error replica identity full;
alter table pgbaton.job_error_default replica identity full;
alter table pgbaton.watermark replica identity full;
alter table pgbaton.rewind replica identity full;
alter table pgbaton.lease_loss replica identity full;
