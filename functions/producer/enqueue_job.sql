create or replace function pgbaton.enqueue_job(
    queue text,
    payload jsonb default '{}',
    priority integer default 100,
    singleton_key text default null,
    job_type text default '',
    tags text[] default '{}',
    run_at timestamptz default null,
    delay interval default null,
    max_attempts integer default null,
    retry_delay interval default null,
    retry_backoff boolean default null,
    backoff_schedule interval[] default null,
    keys_if_undelivered jsonb default null,
    dedup_id text default null,
    on_duplicate text default 'error',
    headers jsonb default null,
    after bigint[] default null,
    on_failed text default 'wait',
    debounce interval default null,
    max_wait interval default null
)
returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_job_id bigint;
begin
    if num_nonnulls(
        singleton_key, run_at, delay, max_attempts, retry_delay, retry_backoff, backoff_schedule, keys_if_undelivered,
        dedup_id, headers, after, debounce, max_wait
    ) = 0 and on_failed = 'wait' and on_duplicate = 'error' and payload is not null and pgbaton._fits(payload) then
        v_job_id := pgbaton._add_plain_job(queue, payload, priority, job_type, tags);
        if v_job_id is not null then
            return v_job_id;
        end if;
    end if;
    if on_duplicate = 'replace' or num_nonnulls(debounce, max_wait) > 0 then
        return pgbaton._enqueue_replacing(
            queue, payload, priority, singleton_key, job_type, tags, run_at, delay, pgbaton._job_options(
                max_attempts, retry_delay, retry_backoff, backoff_schedule, keys_if_undelivered, headers
            ), dedup_id, on_duplicate, after is not null, debounce, max_wait
        );
    end if;
    if after is not null or on_failed is distinct from 'wait' then
        return pgbaton._enqueue_after(
            queue, payload, priority, singleton_key, job_type, tags, run_at, delay, max_attempts, retry_delay,
            retry_backoff, backoff_schedule, keys_if_undelivered, dedup_id, on_duplicate, headers, after, on_failed
        );
    end if;
    return pgbaton._enqueue_job(
        queue, payload, priority, singleton_key, job_type, tags, run_at, delay, max_attempts, retry_delay,
        retry_backoff, backoff_schedule, keys_if_undelivered, dedup_id, on_duplicate, headers
    );
end;
$$;
comment on function pgbaton.enqueue_job(
    text, jsonb, integer, text, text, text[], timestamptz, interval, integer, interval, boolean, interval[],
    jsonb, text, text, jsonb, bigint[], text, interval, interval
) is
'Adds a job and returns its id. The job exists when your transaction commits.
priority: larger runs first, 100 by default (150 and 30 are usual for urgent and background work);
it orders keys, never jobs of one key.
singleton_key: required in a FIFO queue, whose jobs of one key run in enqueue order. job_type, tags: workers may ask
for them; the order of tags does not matter. run_at or delay: the job does not run before; in a FIFO queue it holds up
its key meanwhile.
max_attempts, retry_delay, retry_backoff, backoff_schedule: instead of the settings of the queue. A schedule of n waits
(up to 20,000) means n retries.
keys_if_undelivered: a list of at most 100 key paths under which the payload is stored when the job fails for good.
dedup_id: your own id for the job.
on_duplicate: what happens when the queue knows the dedup_id already, or its policy allows no further job of the key.
error raises PB006, and skip returns the id of the earlier job. With replace the new job takes the place of the earlier
one, if nobody has claimed that, and the earlier one ends as replaced. The new job is as this call says, except that it
stands at the same place and, without run_at or delay, has the same time.

If the earlier job was claimed, replace does not touch it: the new job stands behind it, or is refused with PB006 where
the policy is exclusive. An earlier job that has ended is no duplicate for replace. The call returns the id of the new
job; enqueue_jobs also says what happened.
debounce: with replace, instead of a run_at: the job runs when no other has replaced it for so long. max_wait: but so
long after the first of these jobs at the latest (null: there is no such limit).
headers: an object of texts, up to 4 kB, that travels with the job, for example a trace context.
after: ids of up to 100,000 jobs, in queues in which you may enqueue. The job is not claimable until all of them have
completed, and not before run_at. In a FIFO queue it holds up its key meanwhile, as a job with a run_at does.
on_failed: what becomes of the job when one of them fails for good or ends otherwise: wait (an operator retries or
skips that one; see blocked_jobs), cancel, or run.
Raises PB001, PB002 (a job of after is not known), PB005 (key required), PB006, PB009, PB010 (too many lanes), PB011
(payload above 16 MB, nested deeper than 500 levels or with a number of more than 4,000 digits before the point, or
headers above 4 kB), 2202E, 22004 or 22023.';
