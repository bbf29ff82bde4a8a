create or replace function pgbaton.unsubscribe(queue text, topic_pattern text)
returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._require_queue(queue);
begin
    perform pgbaton._require_action(v_queue, 'enqueue');
    delete from pgbaton.subscription as s
    where s.queue_id = v_queue.id and s.topic_pattern = unsubscribe.topic_pattern;
    return found;
end;
$$;
comment on function pgbaton.unsubscribe(text, text) is
'Ends a subscription and says whether there was one. Jobs that it has brought stay. Raises PB001 or 22004.';
