create or replace function pgbaton._unstore(queue pgbaton.queue, attempts uuid[])
returns void
language plpgsql volatile
as $$
declare
    v_chunk pgbaton.spark_chunk;
    v_rows record;  -- as parallel arrays
begin
    -- In the order of spark_abort, so that the two never wait in a circle.
    for v_chunk in
        select c.* from pgbaton.spark_chunk as c
        where c.queue = queue.name and c.attempt = any (attempts) and c.los is not null and (
            c.queue_id <> queue.id or not pgbaton._takes_stored(_unstore.queue, c.singleton_keys, c.run_ats) or exists (
                select from pgbaton.spark_chunk as o
                where o.queue = queue.name and o.attempt = any (attempts) and o.order_nos is not null
            )
        )
        order by c.attempt, c.chunk_no
        for update
    loop
        select
            array_agg(j.payload order by j.id) as payloads, array_agg(j.singleton_key order by j.id) as singleton_keys,
            array_agg(s.run_at order by j.id) as run_ats
        into v_rows
        from unnest(v_chunk.los, v_chunk.his, v_chunk.run_ats) as s (lo, hi, run_at)
        cross join lateral generate_series(s.lo, s.hi) as g (id)
        cross join lateral (  -- offset 0: each by the index, else the planner may read the whole day
            select o.id, o.payload, o.singleton_key from pgbaton.job as o
            where o.id = g.id and o.day = v_chunk.day
            offset 0
        ) as j;
        update pgbaton.spark_chunk as c
        set los = null, his = null, range_los = null, range_his = null, payloads = v_rows.payloads,
            singleton_keys = case when c.singleton_keys is not null then v_rows.singleton_keys end,
            run_ats = case when c.run_ats is not null then v_rows.run_ats end,
            priorities = case when c.priorities is not null then array_fill(c.priorities[1], array[c.jobs]) end,
            job_types = case when c.job_types is not null then array_fill(c.job_types[1], array[c.jobs]) end,
            tags = case when c.tags is not null then array_fill(c.tags[1], array[c.jobs]) end
        where c.attempt = v_chunk.attempt and c.chunk_no = v_chunk.chunk_no;
        perform pgbaton._drop_stored(v_chunk.day, v_chunk.los, v_chunk.his);
    end loop;
end;
$$;
comment on function pgbaton._unstore(pgbaton.queue, uuid[]) is
'Takes staged rows out of pgbaton.job again that cannot get their place in line there: since they were staged the queue
got another policy or is another one, or rows that are sorted anew came to them.';
