create or replace function pgbaton._lock_stripes(queue_id integer, singleton_keys text[])
returns void
language plpgsql volatile
as $$
begin
    -- Sorted, so that two bulk producers never wait for each other in a circle.
    perform pg_advisory_xact_lock(pgbaton._lock_class(), s.stripe)
    from (
        select distinct pgbaton._stripe(queue_id, d.singleton_key) as stripe
        from (
            select distinct coalesce(k.singleton_key, '') as singleton_key
            from (select unnest(singleton_keys) as singleton_key) as k
        ) as d
        order by 1
        offset 0
    ) as s;
end;
$$;
comment on function pgbaton._lock_stripes(integer, text[]) is
'Takes the producers'' locks of these keys, of which null is the empty one, until the transaction ends, so that commit
order is key_position order.';
