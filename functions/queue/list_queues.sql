create or replace function pgbaton.list_queues()
returns setof pgbaton.queue_info
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_allowed constant integer[] := pgbaton._allowed_queues('operate');
begin
    return query
    select
        q.name, q.policy, q.on_exhausted, q.max_attempts, q.retry_delay, q.retry_backoff, q.retry_delay_max,
        q.backoff_schedule, q.lease, q.retention, q.dead_letter_retention, q.max_lanes, q.description, q.is_paused,
        q.created_at
    from pgbaton.queue as q
    where v_allowed is null or q.id = any (v_allowed)
    order by q.name;
end;
$$;
comment on function pgbaton.list_queues() is
'All queues with their settings, by name; to a role that is narrowed, those on which it may operate.';
