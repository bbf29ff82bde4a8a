create or replace function pgbaton.spark_gc()
returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_chunks bigint := 0;
    v_chunk record;
begin
    for v_chunk in
        delete from pgbaton.spark_chunk as c
        where c.ctid = any (array(
            select o.ctid from pgbaton.spark_chunk as o
            where o.staged_at < v_now - interval '1 day'
            limit 50
            for update skip locked
        ))
        returning c.day, c.los, c.his
    loop
        perform pgbaton._drop_stored(v_chunk.day, v_chunk.los, v_chunk.his);
        v_chunks := v_chunks + 1;
    end loop;

    with gone as (
        delete from pgbaton.enqueue_run as r
        where r.ctid = any (array(
            -- What is noted of a run grows with its jobs.
            select n.ctid
            from (
                select o.ctid, sum(l.jobs) over (order by o.run_id, o.ctid) - l.jobs as jobs_before
                from (
                    select a.ctid, a.run_id from pgbaton.enqueue_run as a
                    where a.begun_at < v_now - interval '30 days' and not exists (
                        select from pgbaton.enqueue_ledger as l
                        where l.run_id = a.run_id and l.noted_at >= v_now - interval '30 days'
                    )
                    limit 1000
                    for update skip locked
                ) as o
                cross join lateral (
                    select coalesce(sum(m.jobs), 0) as jobs from pgbaton.enqueue_ledger as m where m.run_id = o.run_id
                    offset 0
                ) as l
            ) as n
            where n.jobs_before < 10000000
        ))
        returning r.run_id
    ), forgotten as (
        delete from pgbaton.enqueue_range as n using gone as g where n.run_id = g.run_id
    )
    delete from pgbaton.enqueue_ledger as l using gone as g where l.run_id = g.run_id;
    return v_chunks;
end;
$$;
comment on function pgbaton.spark_gc() is
'Drops rows that were staged more than a day ago, and forgets runs that ended more than 30 days ago, or
were begun then and nothing came: sent again, they are enqueued again. Bounded, never waits; run_maintenance calls
it. Returns how many chunks it dropped.';
