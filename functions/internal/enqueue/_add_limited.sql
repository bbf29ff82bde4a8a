create or replace function pgbaton._add_limited(
    queue pgbaton.queue,
    lane_id integer,
    run_at timestamptz,
    payloads jsonb[],
    singleton_keys text[],
    lane_ids integer[] default null,
    run_ats timestamptz[] default null,
    options pgbaton.job_options[] default null
)
returns setof bigint
language plpgsql volatile
as $$
declare
    v_job record;
    v_job_id bigint;
begin
    perform pgbaton._lock_stripes(queue.id, coalesce(singleton_keys, array[null::text]));
    for v_job in
        select u.* from unnest(payloads, singleton_keys, lane_ids, run_ats, options)
        with ordinality as u (
            payload, singleton_key, lane_id, run_at,
            max_attempts, retry_delay, retry_backoff, backoff_schedule, keys_if_undelivered, headers, ordinal
        )
        order by u.ordinal
    loop
        v_job_id := null;
        if pgbaton._queued_job(queue, v_job.singleton_key) is null then
            v_job_id := nextval('pgbaton.job_id_seq');
            perform pgbaton._add_job(
                v_job_id, queue, coalesce(v_job.lane_id, lane_id), coalesce(v_job.run_at, run_at), v_job.payload,
                v_job.singleton_key, pgbaton._job_options(
                    v_job.max_attempts, v_job.retry_delay, v_job.retry_backoff, v_job.backoff_schedule,
                    v_job.keys_if_undelivered, v_job.headers
                )
            );
        end if;
        return next v_job_id;
    end loop;
end;
$$;
comment on function pgbaton._add_limited(
    pgbaton.queue, integer, timestamptz, jsonb[], text[], integer[], timestamptz[], pgbaton.job_options[]
) is
'Adds jobs of a queue whose policy limits what may be queued (short, stately, exclusive), one by one, and
returns their ids in input order, null for those it does not allow.';
