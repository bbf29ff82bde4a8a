create or replace function pgbaton.update_queue(
    queue text,
    policy pgbaton.queue_policy default null,
    on_exhausted pgbaton.on_exhausted default null,
    max_attempts integer default null,
    retry_delay interval default null,
    retry_backoff boolean default null,
    retry_delay_max interval default null,
    backoff_schedule interval[] default null,
    lease interval default null,
    retention interval default null,
    dead_letter_retention interval default null,
    max_lanes integer default null,
    description text default null
)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_old pgbaton.queue := pgbaton._begin_change(queue);
    v_new pgbaton.queue;
begin
    if policy is not null then
        perform pgbaton._seize_queue(queue);
    end if;
    v_old := pgbaton._lock_queue(queue);
    v_new := v_old;
    if policy <> v_old.policy then
        perform pgbaton._require_no_live_jobs(v_old, 'pgbaton.set_fifo_mode() turns order on and off with jobs in it.');
    end if;
    if policy <> v_old.policy and v_old.is_limited then
        perform pgbaton._drop_key_limit(v_old);
    end if;
    if policy <> v_old.policy and policy not in ('fifo', 'singleton', 'stately') then
        delete from pgbaton.paused_key as p where p.queue_id = v_old.id;  -- no call could resume them
    end if;
    v_new.policy := coalesce(policy, v_old.policy);
    v_new.on_exhausted := coalesce(on_exhausted, v_old.on_exhausted);
    v_new.max_attempts := coalesce(max_attempts, v_old.max_attempts);
    v_new.retry_delay := coalesce(retry_delay, v_old.retry_delay);
    v_new.retry_backoff := coalesce(retry_backoff, v_old.retry_backoff);
    v_new.retry_delay_max := coalesce(retry_delay_max, v_old.retry_delay_max);
    v_new.backoff_schedule := coalesce(backoff_schedule[:], v_old.backoff_schedule);
    v_new.lease := coalesce(lease, v_old.lease);
    v_new.retention := coalesce(retention, v_old.retention);
    v_new.dead_letter_retention := coalesce(dead_letter_retention, v_old.dead_letter_retention);
    v_new.max_lanes := coalesce(max_lanes, v_old.max_lanes);
    v_new.description := coalesce(description, v_old.description);
    perform pgbaton._check_settings(v_new);
    update pgbaton.queue as q
    set policy = v_new.policy, on_exhausted = v_new.on_exhausted, max_attempts = v_new.max_attempts,
        retry_delay = v_new.retry_delay, retry_backoff = v_new.retry_backoff,
        retry_delay_max = v_new.retry_delay_max, backoff_schedule = v_new.backoff_schedule, lease = v_new.lease,
        retention = v_new.retention, dead_letter_retention = v_new.dead_letter_retention,
        max_lanes = v_new.max_lanes, description = v_new.description
    where q.id = v_old.id;
    if v_new.policy = 'fifo' and on_exhausted = 'continue' then
        perform pgbaton._unblock_keys(v_old.id);
    end if;
    if v_new.lease < v_old.lease then
        perform pgbaton._wake_queues(array[v_old.id]);  -- nobody sleeps longer than a lease
    end if;
    perform pgbaton._audit('update_queue', queue, null, null, null);
end;
$$;
comment on function pgbaton.update_queue(
    text, pgbaton.queue_policy, pgbaton.on_exhausted, integer, interval, boolean, interval, interval[],
    interval, interval,
    interval, integer, text
) is
'Changes settings of a queue. A null leaves a setting as it is, so none can be set to null here. A change holds at once
for all jobs that do not have the setting themselves, also for those that exist already; a lease or a wait for a retry
that has begun stays.
on_exhausted: continue also frees the keys that failed jobs block already; block holds for jobs that fail from then on.
policy: can change only while the queue has no live jobs; set_fifo_mode turns order on and off with jobs in it. A policy
that holds no keys forgets which were paused.
Waits for other calls that change the queue or drop it.
Raises PB001, PB003 (policy, with a key_limit), PB008 (policy, with live jobs), 22004, 22023, 2202E, or 40001 for an
older snapshot.';
