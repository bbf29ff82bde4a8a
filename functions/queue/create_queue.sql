create or replace function pgbaton.create_queue(
    queue text,
    policy pgbaton.queue_policy default 'standard',
    on_exhausted pgbaton.on_exhausted default 'block',
    max_attempts integer default 20,
    retry_delay interval default '1 second',
    retry_backoff boolean default true,
    retry_delay_max interval default '15 minutes',
    backoff_schedule interval[] default null,
    lease interval default '5 minutes',
    retention interval default '14 days',
    dead_letter_retention interval default null,
    max_lanes integer default 10000,
    description text default null
)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_wanted pgbaton.queue := row(
        null, queue, policy, on_exhausted, max_attempts, retry_delay, retry_backoff, retry_delay_max,
        backoff_schedule[:], lease, retention, dead_letter_retention, max_lanes, description, false, pgbaton._now(),
        false
    );
    v_existing pgbaton.queue;
begin
    perform pgbaton._require_some_queue('operate');
    perform pgbaton._check_settings(v_wanted);
    loop
        select q.* into v_existing from pgbaton.queue as q where q.name = v_wanted.name;
        exit when found;  -- an insert that finds it would use up an id
        insert into pgbaton.queue (
            name, policy, on_exhausted, max_attempts, retry_delay, retry_backoff, retry_delay_max, backoff_schedule,
            lease, retention, dead_letter_retention, max_lanes, description, created_at
        )
        values (
            v_wanted.name, v_wanted.policy, v_wanted.on_exhausted, v_wanted.max_attempts, v_wanted.retry_delay,
            v_wanted.retry_backoff, v_wanted.retry_delay_max, v_wanted.backoff_schedule, v_wanted.lease,
            v_wanted.retention, v_wanted.dead_letter_retention, v_wanted.max_lanes, v_wanted.description,
            v_wanted.created_at
        )
        on conflict on constraint queue_name_key do nothing;
        if found then
            return;
        end if;
    end loop;
    v_wanted.id := v_existing.id;
    v_wanted.is_paused := v_existing.is_paused;
    v_wanted.created_at := v_existing.created_at;
    v_wanted.is_limited := v_existing.is_limited;
    if v_wanted is distinct from v_existing then
        raise exception using
            errcode = 'PB007',
            message = format('queue "%s" exists with other settings', queue),
            hint = 'pgbaton.list_queues() shows them.';
    end if;
end;
$$;
comment on function pgbaton.create_queue(
    text, pgbaton.queue_policy, pgbaton.on_exhausted, integer, interval, boolean, interval, interval[],
    interval, interval,
    interval, integer, text
) is
'Makes a queue; does nothing when it exists with the same settings.
policy: what jobs of one singleton_key (none is a key like any) mean to each other: nothing (standard), at
most one waits to run (short), one runs (singleton), one in each state (stately), one at all (exclusive), or
they run one at a time in enqueue order (fifo).
on_exhausted (fifo): block, a failed job holds its key, or continue, the next one runs.
max_attempts: 1 to 1000000000; null is unlimited. Wait before a retry: backoff_schedule[n] after the n-th attempt (the
last entry repeats), else exponential from retry_delay up to retry_delay_max when retry_backoff, each wait drawn between
half of that and all of it, else retry_delay. The defaults go on for one and a quarter to two and a half hours.
lease: how long a claim holds. retention, dead_letter_retention (null: for ever): how long finished and failed
jobs are kept.
max_lanes: how many different combinations of priority, job_type and tags its jobs may have.
Raises PB007 when it exists with other settings, 22004 or 22023 for a bad argument.';
