create or replace function pgbaton.enqueue_inbox_rows()
returns trigger
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_queue pgbaton.queue;
    v_jobs record;  -- parallel arrays
begin
    perform pgbaton._check_run_at(a.run_at, null) from added as a where a.run_at is not null;

    -- In one order, so that two statements for the same queues never wait for each other in a circle.
    for v_queue in
        select q.*
        from (select distinct a.queue from added as a) as d
        cross join lateral pgbaton._enter_queue(d.queue) as q
        order by q.id
    loop
        with lanes as materialized (
            select d.*, pgbaton._lane_id(v_queue, d.priority, d.job_type, d.tags) as lane_id
            from (
                select distinct a.priority, a.job_type, a.tags from added as a where a.queue = v_queue.name
            ) as d
        )
        select
            array_agg(a.payload order by a.order_no, a.row_no) as payloads,
            array_agg(a.singleton_key order by a.order_no, a.row_no) as singleton_keys,
            array_agg(l.lane_id order by a.order_no, a.row_no) as lane_ids,
            array_agg(a.run_at order by a.order_no, a.row_no) as run_ats
        into v_jobs
        from added as a
        inner join lanes as l on (l.priority, l.job_type, l.tags) = (a.priority, a.job_type, a.tags)
        where a.queue = v_queue.name;

        perform pgbaton._check_batch(v_queue, v_jobs.payloads, v_jobs.singleton_keys);
        perform pgbaton._add_jobs(
            v_queue, v_jobs.payloads, v_jobs.singleton_keys, v_jobs.lane_ids, v_jobs.run_ats, null
        );
    end loop;
    return null;
end;
$$;
comment on function pgbaton.enqueue_inbox_rows() is
'Trigger of the view enqueue_inbox: turns the rows of one insert into jobs. Cannot be called.
Raises PB001, PB005, PB006, PB009, PB010, PB011, 22004 or 22023.';
