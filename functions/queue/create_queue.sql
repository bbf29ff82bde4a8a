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
policy: what jobs with the same singleton_key may do side by side. standard: keys mean nothing; short: at most one
waits; singleton: at most one runs; stately: at most one is in each state; exclusive: there is at most one; fifo: they
run one at a time, in enqueue order. Except in fifo, jobs without a key count together as jobs of one more key.
on_exhausted (fifo): whether a job that failed for good keeps its key (block) or the next one runs (continue).
max_attempts: 1 to 1000000000; null is unlimited. The wait before a retry is backoff_schedule[n] after the n-th attempt
(the last entry repeats). Without a schedule it is retry_delay or, with retry_backoff, doubles from retry_delay up to
retry_delay_max, each wait drawn at random between half of that and all of it. With the defaults a job is given up after
one and a quarter to two and a half hours.
lease: how long a claim holds. retention, dead_letter_retention (null: for ever): how long ended jobs and dead letters
are kept.
max_lanes: how many different combinations of priority, job_type and tags its jobs may have.
Raises PB007 when it exists with other settings, 22004, 22023 or 2202E for a bad argument.';
