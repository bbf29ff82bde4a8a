create or replace function pgbaton._enqueue_replacing(
    queue text,
    payload jsonb,
    priority integer,
    singleton_key text,
    job_type text,
    tags text[],
    run_at timestamptz,
    delay interval,
    options pgbaton.job_options,
    dedup_id text,
    on_duplicate text,
    waits_for_jobs boolean,
    debounce interval,
    max_wait interval
)
returns bigint
language plpgsql volatile
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._enter_queue(queue);
    v_lane_id constant integer := pgbaton._lane_id(v_queue, priority, job_type, tags);
    v_run_at constant timestamptz := pgbaton._check_run_at(run_at, delay);
    v_job_id bigint;
begin
    perform pgbaton._check_payload(payload);
    perform pgbaton._check_key(v_queue, singleton_key);
    perform pgbaton._check_dedup_id(dedup_id, on_duplicate);
    perform pgbaton._check_replace(
        v_queue, dedup_id, on_duplicate, v_run_at is not null, waits_for_jobs, debounce, max_wait
    );
    v_job_id := (pgbaton._replace_jobs(
        v_queue, array[payload], array[singleton_key], array[v_lane_id], array[v_run_at], array[options],
        array[dedup_id], array[on_duplicate], array[debounce], array[max_wait]
    ))[1].job_id;
    if v_job_id is null then
        perform pgbaton._refuse_queued(v_queue, singleton_key, pgbaton._queued_job(v_queue, singleton_key));
    end if;
    return v_job_id;
end;
$$;
comment on function pgbaton._enqueue_replacing(
    text, jsonb, integer, text, text, text[], timestamptz, interval, pgbaton.job_options, text, text, boolean, interval,
    interval
) is
'enqueue_job for a job that takes the place of an earlier one.';
