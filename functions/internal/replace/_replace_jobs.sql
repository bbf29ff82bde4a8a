create or replace function pgbaton._replace_jobs(
    queue pgbaton.queue, payloads jsonb[], singleton_keys text[], lane_ids integer[], run_ats timestamptz[],
    options pgbaton.job_options[], dedup_ids text[], on_duplicates text[], debounces interval[], max_waits interval[]
)
returns setof pgbaton.enqueue_outcome
language plpgsql volatile
as $$
declare
    v_job record;
    v_known_id bigint;
    v_outcome pgbaton.enqueue_outcome;
begin
    perform pgbaton._register_dedup_ids(queue, dedup_ids, on_duplicates);
    perform pgbaton._lock_places(queue, singleton_keys, dedup_ids, on_duplicates);
    for v_job in
        select u.* from unnest(
            payloads, singleton_keys, lane_ids, run_ats, dedup_ids, on_duplicates, debounces, max_waits
        ) with ordinality as u (
            payload, singleton_key, lane_id, run_at, dedup_id, on_duplicate, debounce, max_wait, ordinal
        )
        order by u.ordinal
    loop
        v_known_id := case when v_job.dedup_id is not null then (
            select nullif(d.job_id, 0) from pgbaton.dedup as d
            where d.queue_id = queue.id and d.dedup_id = v_job.dedup_id
        ) end;
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
            insert into pgbaton.dedup (queue_id, dedup_id, job_id, created_at)
            values (queue.id, v_job.dedup_id, v_outcome.job_id, pgbaton._now())
            on conflict on constraint dedup_pkey do update
            set job_id = excluded.job_id, created_at = excluded.created_at;
        end if;
        return next v_outcome;
    end loop;
    -- As in _outcomes: what the policy refused may come again under its id.
    delete from pgbaton.dedup as d where d.queue_id = queue.id and d.job_id + 0 = 0 and d.dedup_id = any (dedup_ids);
end;
$$;
comment on function pgbaton._replace_jobs(
    pgbaton.queue, jsonb[], text[], integer[], timestamptz[], pgbaton.job_options[], text[], text[], interval[],
    interval[]
) is
'Adds jobs given as parallel arrays, of which some may replace earlier ones, one by one in input order, and returns what
became of each. A dedup id belongs to the last job that had it. Raises PB006 for an id that is known, where on_duplicate
is error.';
