create or replace function pgbaton.list_subscriptions(queue text default null)
returns setof pgbaton.subscription_info
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'enqueue');
begin
    return query
    select q.name, s.topic_pattern, s.created_at
    from pgbaton.subscription as s
    inner join pgbaton.queue as q on q.id = s.queue_id
    where v_queue_ids is null or s.queue_id = any (v_queue_ids)
    order by q.name, s.topic_pattern;
end;
$$;
comment on function pgbaton.list_subscriptions(text) is
'Subscriptions of a queue; null: of all into which the caller may enqueue. Raises PB001 or PB009.';
