create or replace function pgbaton._add_jobs(
    queue pgbaton.queue,
    payloads jsonb[],
    singleton_keys text[],
    lane_ids integer[],
    run_ats timestamptz[],
    options pgbaton.job_options[],
    lane_id integer default null,
    run_at timestamptz default null,
    may_refuse boolean default false
)
returns setof bigint
language plpgsql volatile
as $$
declare
    v_job_ids bigint[];
    v_refused integer;
    v_key text;
begin
    if payloads is null or cardinality(payloads) = 0 then
        return;
    elsif queue.policy in ('standard', 'fifo', 'singleton') then
        return query select unnest(pgbaton._add_batch(
            queue, lane_id, run_at, payloads, singleton_keys, lane_ids, run_ats, options
        ));
    else
        v_job_ids := array(select * from pgbaton._add_limited(
            queue, lane_id, run_at, payloads, singleton_keys, lane_ids, run_ats, options
        ));
        v_refused := array_position(v_job_ids, null);
        if v_refused is not null and not may_refuse then
            v_key := (singleton_keys[:])[v_refused];
            perform pgbaton._refuse_queued(queue, v_key, pgbaton._queued_job(queue, v_key));
        end if;
        return query select i.id from unnest(v_job_ids) with ordinality as i (id, ordinal) order by i.ordinal;
    end if;
end;
$$;
comment on function pgbaton._add_jobs(
    pgbaton.queue, jsonb[], text[], integer[], timestamptz[], pgbaton.job_options[], integer, timestamptz,
    boolean
) is
'Adds jobs given as parallel arrays, by the policy of the queue, and returns their ids in input order. lane_id
and run_at hold for all rows whose own entry is null. What the policy does not allow is null when it
may_refuse, else raises PB006.';
