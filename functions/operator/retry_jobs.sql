create or replace function pgbaton.retry_jobs(queue text, filter jsonb default '{}')
returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._require_queue(queue);
    v_job_ids bigint[];
    v_job_id bigint;
    v_extra_attempts integer;
    v_retried bigint[];
begin
    perform pgbaton._require_action(v_queue, 'operate');
    perform pgbaton._check_filter(filter, array[
        'job_type', 'tags', 'singleton_key', 'error', 'failed_after', 'failed_before', 'payload', 'extra_attempts'
    ]);
    v_extra_attempts := coalesce((filter ->> 'extra_attempts')::integer, 1);
    -- What somebody else retries meanwhile is passed over.
    v_job_ids := pgbaton._lock_failed(pgbaton._dead_jobs(v_queue.id, filter), false);
    v_retried := pgbaton._retry_at_once(v_queue.name, v_job_ids, v_extra_attempts);
    for v_job_id in select unnest(v_job_ids) except select unnest(v_retried) order by 1 loop
        perform pgbaton.retry_job(queue, v_job_id, v_extra_attempts);
    end loop;
    return cardinality(v_job_ids);
end;
$$;
comment on function pgbaton.retry_jobs(text, jsonb) is
'Runs the failed jobs of a queue again in place, as retry_job does, and returns how many. filter narrows them, and all
of its keys must fit: job_type; tags (all of them); singleton_key; error (part of the last message); failed_after,
failed_before (instants); payload (what the payload contains). Its key extra_attempts (default 1) is granted to each
job. Reads the failed jobs of the queue. Raises PB001, PB006, 22004, 22007 (no instant) or 22023.';
