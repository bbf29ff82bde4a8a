create or replace function pgbaton._old_key_starts(at timestamptz)
returns text[]
language plpgsql volatile
as $$
begin
    return array(
        select format('%s %s', l.queue_id, k.singleton_key)
        from pgbaton.queue_limit as l
        cross join lateral (
            select o.singleton_key from pgbaton.key_start as o
            where o.queue_id = l.queue_id and o.last_at <= pgbaton._after(at, -l.refill)
            order by o.queue_id, o.last_at
            limit 100000
            for update skip locked
        ) as k
        where l.kind = 'key_rate'
    );
end;
$$;
comment on function pgbaton._old_key_starts(timestamptz) is
'The keys of which nothing has started for an interval of their rate, at most 100,000 a queue: the id of the queue, a
space, the key.';
