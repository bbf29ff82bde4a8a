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
    on_duplicate text default 'error'
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
    v_queue constant pgbaton.queue := pgbaton._enter_queue(queue);
    v_lane_id constant integer := pgbaton._lane_id(v_queue, priority, job_type, tags);
    v_run_at constant timestamptz := case
        when num_nonnulls(run_at, delay) > 0 then pgbaton._check_run_at(run_at, delay)
    end;
    v_options constant pgbaton.job_options := case
        when num_nonnulls(max_attempts, retry_delay, retry_backoff, backoff_schedule, keys_if_undelivered) > 0
            then pgbaton._job_options(max_attempts, retry_delay, retry_backoff, backoff_schedule, keys_if_undelivered)
    end;
    v_job_id constant bigint := nextval('pgbaton.job_id_seq');
    v_earlier_id bigint;
begin
    perform pgbaton._check_payload(payload);
    if singleton_key is not null or v_queue.policy = 'fifo' then
        perform pgbaton._check_key(v_queue, singleton_key);
    end if;
    if dedup_id is not null or on_duplicate is distinct from 'error' then
        perform pgbaton._check_dedup_id(dedup_id, on_duplicate);
    end if;
    if dedup_id is not null then
        v_earlier_id := pgbaton._register_dedup_id(v_queue, dedup_id, v_job_id, on_duplicate);
        if v_earlier_id <> v_job_id then
            return v_earlier_id;
        end if;
    end if;
    if v_queue.policy in ('short', 'stately', 'exclusive') then
        v_earlier_id := pgbaton._queued_job(v_queue, singleton_key);
        if v_earlier_id is not null and on_duplicate is distinct from 'skip' then
            perform pgbaton._refuse_queued(v_queue, singleton_key, v_earlier_id);
        elsif v_earlier_id is not null then
            delete from pgbaton.dedup as d where d.queue_id = v_queue.id and d.job_id = v_job_id;
            return v_earlier_id;
        end if;
    end if;
    perform pgbaton._add_job(v_job_id, v_queue, v_lane_id, v_run_at, payload, singleton_key, v_options);
    return v_job_id;
end;
$$;
comment on function pgbaton.enqueue_job(
    text, jsonb, integer, text, text, text[], timestamptz, interval, integer, interval, boolean, interval[],
    jsonb, text, text
) is
'Adds a job and returns its id. It is there when your transaction commits.
priority: larger runs first (150 explicit, 100 discovered, 30 backfill); it orders keys, never jobs of one
key.
singleton_key: required in a FIFO queue, whose jobs of one key run in enqueue order. job_type, tags: what
workers may ask for; tags are a set. run_at or delay: not before; in a FIFO queue such a job holds up its key.
max_attempts, retry_delay, retry_backoff, backoff_schedule: instead of the queue''s; a schedule of n waits
means n retries.
keys_if_undelivered: list of key paths under which the payload is stored when the job fails for good.
dedup_id: your own id for the job. When the queue knows it already, or its policy allows no further job of the
key, on_duplicate error raises PB006 and skip returns the earlier job''s id.
Raises PB001, PB005 (key required), PB006, PB010 (too many lanes), PB011 (payload above 16 MB), 22004 or
22023.';
