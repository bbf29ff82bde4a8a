create or replace function pgbaton._enqueue_job(
    queue text,
    payload jsonb,
    priority integer,
    singleton_key text,
    job_type text,
    tags text[],
    run_at timestamptz,
    delay interval,
    max_attempts integer,
    retry_delay interval,
    retry_backoff boolean,
    backoff_schedule interval[],
    keys_if_undelivered jsonb,
    dedup_id text,
    on_duplicate text,
    headers jsonb,
    held_id bigint default null
)
returns bigint
language plpgsql volatile
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._enter_queue(queue);
    v_lane_id constant integer := pgbaton._lane_id(v_queue, priority, job_type, tags);
    v_run_at constant timestamptz := case
        when held_id is not null then 'infinity'
        when num_nonnulls(run_at, delay) > 0 then pgbaton._check_run_at(run_at, delay)
    end;
    v_options constant pgbaton.job_options := case
        when num_nonnulls(
            max_attempts, retry_delay, retry_backoff, backoff_schedule, keys_if_undelivered, headers
        ) > 0 then pgbaton._job_options(
            max_attempts, retry_delay, retry_backoff, backoff_schedule, keys_if_undelivered, headers
        )
    end;
    v_job_id constant bigint := coalesce(held_id, nextval('pgbaton.job_id_seq'));
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
comment on function pgbaton._enqueue_job(
    text, jsonb, integer, text, text, text[], timestamptz, interval, integer, interval, boolean, interval[],
    jsonb, text, text, jsonb, bigint
) is
'enqueue_job for every kind of job. held_id: the id of one that is not claimable until _let_go.';
