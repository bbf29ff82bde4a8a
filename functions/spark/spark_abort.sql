create or replace function pgbaton.spark_abort(run_id text)
returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_rows bigint := 0;
    v_chunk record;
begin
    perform pgbaton._check_run_id(run_id);
    -- In the order in which spark_commit finds them, so that the two never wait in a circle.
    for v_chunk in
        with doomed as materialized (
            select c.attempt, c.chunk_no from pgbaton.spark_chunk as c
            where c.run_id = spark_abort.run_id and c.queue in (select pgbaton.granted_queues('enqueue'))
            order by c.attempt, c.chunk_no
            for update
        )
        delete from pgbaton.spark_chunk as c using doomed as d
        where c.attempt = d.attempt and c.chunk_no = d.chunk_no
        returning c.jobs, c.day, c.los, c.his
    loop
        perform pgbaton._drop_stored(v_chunk.day, v_chunk.los, v_chunk.his);
        v_rows := v_rows + v_chunk.jobs;
    end loop;
    return v_rows;
end;
$$;
comment on function pgbaton.spark_abort(text) is
'Drops the rows of a run that are staged, and returns how many there were; jobs stay. Another commit of the run that is
under way fails with PB003.
Raises 22004 or 22023.';
