create or replace function pgbaton._lock_chunks(queue pgbaton.queue, attempts uuid[])
returns void
language plpgsql volatile
as $$
begin
    if queue.policy = 'standard' then
        return;
    end if;
    -- As in _add_once, which takes this lock before those of the keys.
    if exists (
        select from pgbaton.spark_chunk as c
        where c.queue = queue.name and c.attempt = any (attempts) and c.dedup_ids is not null
    ) then
        perform pg_advisory_xact_lock(pgbaton._lock_class() + 3, queue.id);
    end if;
    perform pg_advisory_xact_lock(pgbaton._lock_class(), s.stripe)
    from (
        select distinct pgbaton._stripe(queue.id, coalesce(k.singleton_key, '')) as stripe
        from pgbaton.spark_chunk as c
        cross join lateral unnest(
            coalesce(c.singleton_keys, array_fill(null::text, array[1]))
        ) as k (singleton_key)
        where c.queue = queue.name and c.attempt = any (attempts)
        order by 1
        offset 0
    ) as s;
end;
$$;
comment on function pgbaton._lock_chunks(pgbaton.queue, uuid[]) is
'Takes the producers'' locks of all keys of staged rows in one order, since they are added chunk by chunk.';
