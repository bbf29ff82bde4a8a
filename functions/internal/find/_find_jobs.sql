create or replace function pgbaton._find_jobs(
    filter jsonb, queue_ids integer[], max_rows integer, after text, oldest_first boolean,
    out job_ids bigint[], out next_after text
)
language plpgsql stable
as $$
declare
    v_kind constant text := pgbaton._search_kind(filter);
    v_reads_each constant boolean := filter ?| array[
        'singleton_key', 'error', 'payload', 'created_after', 'created_before'
    ];
    v_lane_ids constant integer[] := pgbaton._lanes_that_fit(filter, queue_ids);
    v_bounds constant pgbaton.search_bounds := pgbaton._search_bounds(filter);
    v_place pgbaton.search_place := pgbaton._search_place(v_kind, after, oldest_first);
    v_left bigint := case when v_reads_each then 4096 else 10000 end;
    v_most integer := case when v_reads_each then 128 else least(max_rows, 1000) end;
    v_ranges pgbaton.job_range[];
    v_last pgbaton.job_range;
    v_looked_at bigint;
begin
    job_ids := '{}';
    if v_lane_ids = '{}' then
        return;
    end if;
    loop
        v_ranges := array(
            select r::pgbaton.job_range
            from pgbaton._next_ranges(v_kind, v_place, v_bounds, v_most, oldest_first, filter, queue_ids) as r
        );
        job_ids := job_ids || pgbaton._fitting(
            pgbaton._ranges_that_fit(v_ranges, filter, queue_ids, v_lane_ids), filter, oldest_first
        );
        if cardinality(job_ids) > max_rows then
            job_ids := job_ids[:max_rows];
            select r.* into v_last from unnest(v_ranges) as r where job_ids[max_rows] between r.lo and r.hi;
            next_after := pgbaton._place_text(v_kind, v_last.ended_at, job_ids[max_rows]);
            return;
        end if;
        exit when cardinality(v_ranges) < v_most;

        v_last := v_ranges[v_most];
        v_place.at := v_last.ended_at;
        v_place.id := case when oldest_first then v_last.hi else v_last.lo end;
        next_after := pgbaton._place_text(v_kind, v_place.at, v_place.id);
        exit when cardinality(job_ids) = max_rows;
        v_looked_at := (
            select case when v_reads_each then sum(r.hi - r.lo + 1) else count(*) end from unnest(v_ranges) as r
        );
        v_left := v_left - v_looked_at;
        exit when v_left <= 0;
        v_most := least(8 * v_most, 4096, greatest(16, v_left * v_most / v_looked_at));
        next_after := null;
    end loop;
end;
$$;
comment on function pgbaton._find_jobs(jsonb, integer[], integer, text, boolean) is
'The work of find_jobs: looks at one stretch of jobs after the other until it has found enough, or looked at enough.';
