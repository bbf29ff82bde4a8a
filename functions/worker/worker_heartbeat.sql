create or replace function pgbaton.worker_heartbeat(
    worker_id text, capacity integer default null, tags text[] default '{}'
)
returns bigint[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_allowed constant integer[] := pgbaton._enter_worker(worker_id);
begin
    if capacity < 0 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('capacity is %s', capacity),
            hint = 'Pass how many jobs the worker can run at once, or null.';
    end if;
    insert into pgbaton.worker as w (worker_id, capacity, tags, started_at, heartbeat_at, queue_ids)
    values (worker_id, capacity, pgbaton._normal_tags(tags), v_now, v_now, coalesce(v_allowed, '{}'))
    on conflict on constraint worker_pkey do update
    set capacity = excluded.capacity, tags = excluded.tags, heartbeat_at = excluded.heartbeat_at;

    return array(
        select g.id
        from pgbaton.held_span as s
        cross join lateral generate_series(s.lo, s.hi) as g (id)
        -- Leases that ended before are handled: of those no dead entries are read.
        where s.state in ('active', 'cancelling')
            and s.lease_until >= (select w.leases_from from pgbaton._upkeep_bounds() as w)
            and s.state = 'cancelling' and s.worker_id = worker_heartbeat.worker_id
            and (v_allowed is null or s.queue_id = any (v_allowed))
        order by g.id
    );
end;
$$;
comment on function pgbaton.worker_heartbeat(text, integer, text[]) is
'Notes that a worker lives; there is one row for each worker. capacity: how many jobs it can run at once; tags: what it
asks for. Returns the ids of its jobs that somebody cancelled: stop them and acknowledge. For callers whom grants
narrow to other queues, a worker of the same name is another worker. Raises PB009, 2202E, 22004 or 22023.';
