create or replace function pgbaton._enqueue_chunk(
    queue pgbaton.queue, chunk pgbaton.spark_chunk, are_new boolean, run_id text
)
returns integer
language plpgsql volatile
as $$
declare
    v_lane_id integer;
    v_lane_ids integer[];
    v_is_new boolean[];
    v_day constant date := pgbaton._day(pgbaton._now());
    v_job_ids bigint[];
    v_ranges record;
    v_dedup_ids constant text[] := case
        when exists (select from unnest(chunk.dedup_ids) as d (dedup_id) where d.dedup_id is not null)
            then chunk.dedup_ids
    end;
begin
    -- spark_stage checked the payloads, and the keys for the policy that the queue had then.
    perform pgbaton._check_keys(queue, chunk.singleton_keys, chunk.jobs);
    if chunk.los is not null then
        perform pgbaton._line_up_stored(queue, chunk);
        perform pgbaton._note_range(queue.id, run_id, 0, chunk.day, chunk.jobs, chunk.range_los, chunk.range_his);
        return chunk.jobs;
    end if;
    if num_nonnulls(chunk.priorities, chunk.job_types, chunk.tags) = 0 then
        v_lane_id := pgbaton._lane_id(queue, 100, '', '{}');
    else
        with rows as materialized (
            select u.* from unnest(
                coalesce(chunk.priorities, array_fill(100, array[cardinality(chunk.payloads)])),
                coalesce(chunk.job_types, array_fill(''::text, array[cardinality(chunk.payloads)])),
                coalesce(chunk.tags, array_fill('{}'::text, array[cardinality(chunk.payloads)]))
            ) with ordinality as u (priority, job_type, tags, ordinal)
        ), lanes as materialized (
            select d.*, pgbaton._lane_id(queue, d.priority, d.job_type, d.tags::text[]) as lane_id
            from (select distinct r.priority, r.job_type, r.tags from rows as r offset 0) as d
        )
        select array_agg(l.lane_id order by r.ordinal) into v_lane_ids
        from rows as r
        inner join lanes as l on (l.priority, l.job_type, l.tags) = (r.priority, r.job_type, r.tags);
    end if;
    if v_dedup_ids is not null and not are_new then
        v_is_new := pgbaton._unused_dedup_ids(queue, v_dedup_ids);
    end if;
    v_job_ids := pgbaton._add_once(
        queue, chunk.payloads, chunk.singleton_keys, v_lane_ids, pgbaton._run_ats_of(chunk.run_ats, chunk.waits),
        v_dedup_ids, v_is_new, v_lane_id
    );
    perform pgbaton._add_waits(queue.id, pgbaton._ids_by_row(v_job_ids, v_is_new), chunk.waits);
    v_ranges := pgbaton._id_ranges(v_job_ids);
    perform pgbaton._note_range(queue.id, run_id, 0, v_day, cardinality(v_job_ids), v_ranges.los, v_ranges.his);
    return cardinality(v_job_ids);
end;
$$;
comment on function pgbaton._enqueue_chunk(pgbaton.queue, pgbaton.spark_chunk, boolean, text) is
'Adds the jobs of one chunk to a run, for which _enter_chunks prepared, and returns how many, without those whose dedup
id is known; are_new says that none is. Raises what _check_keys, _add_once and _add_waits raise.';
