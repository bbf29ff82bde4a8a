create or replace function pgbaton._require_baton(queue text, singleton_key text)
returns pgbaton.queue
language plpgsql volatile
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._enter_queue(queue, 'operate');
begin
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
    if octet_length(singleton_key) > 1024 then
        perform pgbaton._check_key(v_queue, singleton_key);
    end if;
    return v_queue;
end;
$$;
comment on function pgbaton._require_baton(text, text) is
'The queue, if jobs of it hold keys, as _enter_queue has it. Raises PB001, PB003, PB009, 22004 or 22023.';
