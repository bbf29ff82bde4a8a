create or replace function pgbaton.enqueue_batch(
    queue text,
    payloads jsonb[],
    singleton_keys text[] default null,
    priority integer default 100,
    job_type text default '',
    tags text[] default '{}',
    run_at timestamptz default null,
    headers jsonb default null
)
returns setof bigint
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
    v_run_at constant timestamptz := pgbaton._check_run_at(run_at, null);
    v_options constant pgbaton.job_options := case
        when headers is not null then pgbaton._job_options(null, null, null, null, null, headers)
    end;
begin
    perform pgbaton._check_batch(v_queue, payloads, singleton_keys);
    if cardinality(payloads) = 0 then
        return;
    end if;
    return query select * from pgbaton._add_jobs(
        v_queue, payloads, singleton_keys, null, null,
        case when headers is not null then array_fill(v_options, array[cardinality(payloads)]) end, v_lane_id, v_run_at
    );
end;
$$;
comment on function pgbaton.enqueue_batch(text, jsonb[], text[], integer, text, text[], timestamptz, jsonb) is
'The fast way to add many jobs with the same options: one for each payload. Returns their ids in input order, none for
an empty array.
singleton_keys: one for each payload, null for none; required in a FIFO queue.
headers: the same for all jobs. The other parameters are as in enqueue_job.
All or nothing; the message says which payload or key was refused.
Raises PB001, PB005, PB006 (the policy allows no further job of a key), PB009, PB010, PB011, 2202E (arrays of different
lengths), 22004 or 22023.';
