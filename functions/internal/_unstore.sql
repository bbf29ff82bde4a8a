create or replace function pgbaton._unstore(queue pgbaton.queue, attempts uuid[])
returns void
language plpgsql volatile
as $$
declare
    v_chunk record;
begin
    for v_chunk in
        with doomed as materialized (
            -- In the order of spark_abort, so that the two never wait in a circle.
            select c.attempt, c.chunk_no, c.day, c.job_ids from pgbaton.spark_chunk as c
            where c.queue = queue.name and c.attempt = any (attempts) and c.job_ids is not null and (
                c.queue_id <> queue.id or not pgbaton._takes_stored(_unstore.queue, c.singleton_keys, c.run_ats) or exists (
                    select from pgbaton.spark_chunk as o
                    where o.queue = queue.name and o.attempt = any (attempts) and o.order_nos is not null
                )
            )
            order by c.attempt, c.chunk_no
            for update of c
        ), restored as (
            update pgbaton.spark_chunk as c
            set job_ids = null, payloads = array(
                select j.payload from unnest(d.job_ids) with ordinality as i (id, ordinal)
                inner join pgbaton.job as j on j.id = i.id and j.day = d.day
                order by i.ordinal
            )
            from doomed as d
            where c.attempt = d.attempt and c.chunk_no = d.chunk_no
            returning d.day, d.job_ids
        )
        select r.day, r.job_ids from restored as r
    loop
        perform pgbaton._drop_stored(v_chunk.day, v_chunk.job_ids);
    end loop;
end;
$$;
comment on function pgbaton._unstore(pgbaton.queue, uuid[]) is
'Takes staged rows out of pgbaton.job again that cannot get their place in line there: since they were staged the queue
got another policy or is another one, or rows that are sorted anew came to them.';
