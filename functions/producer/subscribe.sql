create or replace function pgbaton.subscribe(queue text, topic_pattern text)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._enter_queue(queue);
begin
    perform pgbaton._check_topic(topic_pattern, true);
    insert into pgbaton.subscription (queue_id, topic_pattern, created_at)
    values (v_queue.id, topic_pattern, pgbaton._now())
    on conflict on constraint subscription_pkey do nothing;
end;
$$;
comment on function pgbaton.subscribe(text, text) is
'Lets the queue get a job for whatever is published to topics that fit the pattern: words with dots between, * for one
word, # for any number of words. Does nothing when it is subscribed already. Raises PB001, 22004 or 22023.';
