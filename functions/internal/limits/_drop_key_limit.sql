create or replace function pgbaton._drop_key_limit(queue pgbaton.queue)
returns void
language plpgsql volatile
as $$
begin
    if exists (
        select from pgbaton.queue_limit as l
        where l.queue_id = _drop_key_limit.queue.id and (l.kind = 'key_rate' or (l.kind = 'key' and l.size > 1))
    ) then
        raise exception using
            errcode = 'PB003',
            message = format('queue "%s" has limits of its keys, which are for its policy', queue.name),
            hint = 'Call pgbaton.set_queue_limits() without key_limit and key_rate_count first.';
    end if;
    delete from pgbaton.queue_limit as l where l.queue_id = _drop_key_limit.queue.id and l.kind = 'key';
    update pgbaton.queue as q
    set is_limited = exists (select from pgbaton.queue_limit as l where l.queue_id = q.id)
    where q.id = _drop_key_limit.queue.id;
end;
$$;
comment on function pgbaton._drop_key_limit(pgbaton.queue) is
'Forgets that a queue had a key_limit, when its policy changes. Raises PB003 when it has one, or a rate of each key.';
