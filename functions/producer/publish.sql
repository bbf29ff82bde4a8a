create or replace function pgbaton.publish(
    topic text,
    payload jsonb,
    singleton_key text default null,
    priority integer default 100,
    job_type text default '',
    tags text[] default '{}',
    run_at timestamptz default null,
    delay interval default null,
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
    v_allowed constant integer[] := case
        when pgbaton._has_grants() then pgbaton._allowed_queues('enqueue')
    end;
    v_queue text;
begin
    perform pgbaton._check_topic(topic, false);
    perform pgbaton._check_payload(payload);
    perform pgbaton._check_headers(headers);
    -- In one order, so that two publishers never wait for each other in a circle.
    for v_queue in
        select q.name
        from pgbaton.queue as q
        where q.id in (
            select s.queue_id from pgbaton.subscription as s
            where '.' || topic ~ pgbaton._topic_regex(s.topic_pattern)
        ) and (v_allowed is null or q.id = any (v_allowed))
        order by q.id
    loop
        return next pgbaton.enqueue_job(
            v_queue, payload, priority, coalesce(singleton_key, v_queue), job_type, tags, run_at, delay,
            on_duplicate => 'skip', headers => headers
        );
    end loop;
end;
$$;
comment on function pgbaton.publish(text, jsonb, text, integer, text, text[], timestamptz, interval, jsonb) is
'Enqueues a job in each queue that is subscribed to the topic and returns their ids, or none. It all happens in your
transaction, so each subscription gets its jobs in commit order.
singleton_key: the name of the queue by default, so that a FIFO queue keeps all its deliveries in order. The other
parameters are as in enqueue_job.

Queues into which grants do not let the caller enqueue are passed over. A queue whose policy allows no further job of
the key gets none, and the id of its earlier job is returned.
Raises PB009, PB010, PB011, 2202E, 22004 or 22023; then no queue gets a job.';
