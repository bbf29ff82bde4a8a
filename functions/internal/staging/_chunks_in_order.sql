create or replace function pgbaton._chunks_in_order(queue pgbaton.queue, attempts uuid[])
returns setof pgbaton.spark_chunk
language plpgsql volatile
as $$
begin
    if not exists (
        select from pgbaton.spark_chunk as c
        where c.queue = queue.name and c.attempt = any (attempts) and c.order_nos is not null
    ) then
        return query
        select c.* from pgbaton.spark_chunk as c
        where c.queue = queue.name and c.attempt = any (attempts)
        order by c.part, c.attempt, c.chunk_no;
        return;
    end if;
    return query
    select
        min(r.attempt::text)::uuid, min(r.staged_at), 0, 0, count(*)::integer, queue.id, null::date, 0::numeric,
        queue.name, min(r.run_id), null::bigint[], null::bigint[], null::bigint[], null::bigint[],
        array_agg(r.payload order by r.n), array_agg(r.singleton_key order by r.n),
        array_agg(r.priority order by r.n), array_agg(r.job_type order by r.n), array_agg(r.tags order by r.n),
        array_agg(r.run_at order by r.n), array_agg(r.dedup_id order by r.n), null::bigint[],
        case when count(r.wait) > 0 then array_agg(r.wait order by r.n) end
    from (
        select
            c.attempt, c.staged_at, c.run_id, u.*,
            row_number() over (order by u.order_no, c.part, c.attempt, c.chunk_no, u.ordinal) as n
        from pgbaton.spark_chunk as c
        cross join lateral unnest(
            c.payloads, c.singleton_keys,
            coalesce(c.priorities, array_fill(100, array[cardinality(c.payloads)])),
            coalesce(c.job_types, array_fill(''::text, array[cardinality(c.payloads)])),
            coalesce(c.tags, array_fill('{}'::text, array[cardinality(c.payloads)])),
            c.run_ats, c.dedup_ids, c.order_nos, c.waits
        ) with ordinality as u (
            payload, singleton_key, priority, job_type, tags, run_at, dedup_id, order_no, wait, ordinal
        )
        where c.queue = queue.name and c.attempt = any (attempts)
    ) as r
    group by (r.n - 1) / 5000
    order by (r.n - 1) / 5000;
end;
$$;
comment on function pgbaton._chunks_in_order(pgbaton.queue, uuid[]) is
'Staged rows in the order in which they are to be added: as they came, or sorted anew when any has an order_no.';
