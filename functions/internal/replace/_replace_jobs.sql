create or replace function pgbaton._replace_jobs(
    queue pgbaton.queue, payloads jsonb[], singleton_keys text[], lane_ids integer[], run_ats timestamptz[],
    options pgbaton.job_options[], dedup_ids text[], on_duplicates text[], debounces interval[], max_waits interval[],
    waits jsonb[] default null
)
returns pgbaton.enqueue_outcome[]
language plpgsql volatile
as $$
declare
    v_job record;
    v_known_id bigint;
    v_outcome pgbaton.enqueue_outcome;
    v_outcomes pgbaton.enqueue_outcome[];
begin
    perform pgbaton._register_dedup_ids(queue, dedup_ids, on_duplicates);
    perform pgbaton._lock_places(queue, singleton_keys, dedup_ids, on_duplicates);
    for v_job in
        select u.* from unnest(
            payloads, singleton_keys, lane_ids, run_ats, dedup_ids, on_duplicates, debounces, max_waits, waits
        ) with ordinality as u (
            payload, singleton_key, lane_id, run_at, dedup_id, on_duplicate, debounce, max_wait, wait, ordinal
        )
        order by u.ordinal
    loop
        select nullif(d.job_id, 0) into v_known_id from pgbaton.dedup as d
        where d.queue_id = queue.id and d.dedup_id = v_job.dedup_id;
        if v_known_id is not null and v_job.on_duplicate is distinct from 'replace' then
            v_outcome := row(v_job.ordinal, v_known_id, 'duplicate');
        else
            select v_job.ordinal, p.job_id, p.outcome into v_outcome
            from pgbaton._place_job(
                queue, v_job.lane_id, v_job.run_at, v_job.payload, v_job.singleton_key, options[v_job.ordinal],
                v_known_id, v_job.on_duplicate is not distinct from 'replace', v_job.debounce, v_job.max_wait
            ) as p;
        end if;
        if v_outcome.job_id <> coalesce(v_known_id, 0) and v_job.dedup_id is not null then
            perform pgbaton._pass_dedup_id(queue.id, v_job.dedup_id, v_outcome.job_id);
        end if;
        v_outcomes := v_outcomes || v_outcome;
        if v_outcome.outcome = 'enqueued' and v_job.wait is not null then
            perform pgbaton._add_edges_of_job(v_job.wait, v_outcome.ordinal, v_outcomes);
        end if;
    end loop;
    -- As in _outcomes: what the policy refused may come again under its id.
    delete from pgbaton.dedup as d where d.queue_id = queue.id and d.job_id + 0 = 0 and d.dedup_id = any (dedup_ids);
    return v_outcomes;
end;
$$;
comment on function pgbaton._replace_jobs(
    pgbaton.queue, jsonb[], text[], integer[], timestamptz[], pgbaton.job_options[], text[], text[], interval[],
    interval[], jsonb[]
) is
'Adds jobs given as parallel arrays, of which some may replace earlier ones, one by one in input order, and returns what
became of each. A dedup id belongs to the last job that had it. waits: as _parse_jobs has them; noted job by
job, since a later one may replace one that waits or is waited for. Raises PB006 for an id that is known, where
on_duplicate is error, PB002 or 40001.';
