create or replace function pgbaton._require_baton(queue text, singleton_key text)
returns pgbaton.queue
language plpgsql stable
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._require_queue(queue);
begin
    perform pgbaton._require_action(v_queue, 'operate');
    if v_queue.policy not in ('fifo', 'singleton', 'stately') then
        raise exception using
            errcode = 'PB003',
            message = format('queue "%s" has the policy %s, where no job holds a key', queue, v_queue.policy),
            hint = 'pgbaton.pause_queue() pauses all of it.';
    end if;
    if singleton_key is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'singleton_key is null',
            hint = 'Name the key.';
    end if;
    return v_queue;
end;
$$;
comment on function pgbaton._require_baton(text, text) is
'The queue, if jobs of it hold keys. Raises PB001, PB003, PB009 or 22004.';
