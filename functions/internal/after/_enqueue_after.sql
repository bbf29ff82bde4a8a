create or replace function pgbaton._enqueue_after(
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
    after bigint[],
    on_failed text
)
returns bigint
language plpgsql volatile
as $$
declare
    v_parent_ids constant bigint[] := pgbaton._check_after(after, on_failed);
    v_run_at constant timestamptz := pgbaton._check_run_at(run_at, delay);
    v_held_id bigint;
    v_job_id bigint;
begin
    if cardinality(v_parent_ids) > 0 then
        v_held_id := nextval('pgbaton.job_id_seq');
    end if;
    v_job_id := pgbaton._enqueue_job(
        queue, payload, priority, singleton_key, job_type, tags, v_run_at, null, max_attempts, retry_delay,
        retry_backoff, backoff_schedule, keys_if_undelivered, dedup_id, on_duplicate, headers, v_held_id
    );
    if v_job_id = v_held_id then  -- and no earlier one
        perform pgbaton._require_parents(v_parent_ids);
        perform pgbaton._add_edges(v_job_id, v_parent_ids, on_failed, v_run_at);
    end if;
    return v_job_id;
end;
$$;
comment on function pgbaton._enqueue_after(
    text, jsonb, integer, text, text, text[], timestamptz, interval, integer, interval, boolean, interval[],
    jsonb, text, text, jsonb, bigint[], text
) is
'enqueue_job for a job that waits for others.';
