create or replace function pgbaton._add_jobs(
    queue pgbaton.queue, payloads jsonb[], singleton_keys text[], lane_ids integer[], run_ats timestamptz[],
    options pgbaton.job_options[]
)
returns setof bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    if payloads is null or cardinality(payloads) = 0 then
        return;
    elsif queue.policy = 'fifo' then
        return query
        select * from pgbaton._add_keyed(queue, null, null, payloads, singleton_keys, lane_ids, run_ats, options);
    else
        return query
        select * from pgbaton._add_unkeyed(queue, null, null, payloads, singleton_keys, lane_ids, run_ats, options);
    end if;
end;
$$;
comment on function pgbaton._add_jobs(
    pgbaton.queue, jsonb[], text[], integer[], timestamptz[], pgbaton.job_options[]
) is
'Adds jobs given as parallel arrays and returns their ids in input order.';
