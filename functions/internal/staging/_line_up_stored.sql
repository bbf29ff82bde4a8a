create or replace function pgbaton._line_up_stored(queue pgbaton.queue, chunk pgbaton.spark_chunk)
returns void
language plpgsql volatile
as $$
declare
    v_lane_id constant integer := pgbaton._lane_id(
        queue, coalesce(chunk.priorities[1], 100), coalesce(chunk.job_types[1], ''),
        coalesce(chunk.tags[1], '{}')::text[]
    );
begin
    if queue.policy = 'standard' then
        perform pgbaton._line_up_plain(queue, v_lane_id, null, chunk.los, chunk.his, chunk.day);
    else
        perform pgbaton._line_up_keyed(
            queue, v_lane_id, null, chunk.los, chunk.his, chunk.day, chunk.singleton_keys, null, chunk.run_ats
        );
    end if;
end;
$$;
comment on function pgbaton._line_up_stored(pgbaton.queue, pgbaton.spark_chunk) is
'Makes jobs of the rows of a chunk that stand in pgbaton.job already.';
