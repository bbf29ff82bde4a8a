create or replace function pgbaton._enter_chunks(queue pgbaton.queue, attempts uuid[])
returns boolean
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_noted bigint := 0;
    v_rows bigint := 0;  -- with a dedup id
begin
    if exists (
        select from pgbaton.spark_chunk as c
        where c.queue = queue.name and c.attempt = any (attempts) and c.dedup_ids is not null
    ) then
        -- Shared: those that register ids statement by statement keep everybody of these out.
        perform pg_advisory_xact_lock_shared(pgbaton._lock_class() + 3, queue.id);
        insert into pgbaton.dedup (queue_id, dedup_id, job_id, created_at)
        select queue.id, d.dedup_id, 0, v_now
        from (
            select distinct u.dedup_id
            from pgbaton.spark_chunk as c
            cross join lateral unnest(c.dedup_ids) as u (dedup_id)
            where c.queue = queue.name and c.attempt = any (attempts) and u.dedup_id is not null
        ) as d
        order by d.dedup_id
        on conflict on constraint dedup_pkey do nothing;
        get diagnostics v_noted = row_count;
        select count(u.dedup_id) into v_rows
        from pgbaton.spark_chunk as c
        cross join lateral unnest(c.dedup_ids) as u (dedup_id)
        where c.queue = queue.name and c.attempt = any (attempts);
    end if;

    if queue.policy <> 'standard' then
        perform pg_advisory_xact_lock(pgbaton._lock_class(), s.stripe)
        from (
            select distinct pgbaton._stripe(queue.id, d.singleton_key) as stripe
            from (
                select distinct coalesce(k.singleton_key, '') as singleton_key
                from pgbaton.spark_chunk as c
                cross join lateral unnest(
                    coalesce(c.singleton_keys, array_fill(null::text, array[1]))
                ) as k (singleton_key)
                where c.queue = queue.name and c.attempt = any (attempts)
            ) as d
            order by 1
            offset 0
        ) as s;
    end if;
    return v_noted = v_rows;
end;
$$;
comment on function pgbaton._enter_chunks(pgbaton.queue, uuid[]) is
'Everything for which adding staged rows would wait, in the order of all producers: notes their
dedup ids, of which those that are new have job_id 0 until they are used, and takes the producers'' locks of their
keys. True when all rows are new: no id was known, and none stands twice.';
