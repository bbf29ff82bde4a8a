create or replace function pgbaton.list_queues()
returns setof pgbaton.queue_info
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    select
        q.name, q.policy, q.on_exhausted, q.max_attempts, q.retry_delay, q.retry_backoff, q.retry_delay_max,
        q.backoff_schedule, q.lease, q.retention, q.dead_letter_retention, q.max_lanes, q.description, q.is_paused,
        q.created_at
    from pgbaton.queue as q
    order by q.name;
end;
$$;
comment on function pgbaton.list_queues() is
'All queues with their settings, by name.';
