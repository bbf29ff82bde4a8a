create or replace function pgbaton.enqueue_jobs(queue text, jobs jsonb)
returns setof pgbaton.enqueue_outcome
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set timezone = 'UTC'
set datestyle = 'ISO'
set intervalstyle = 'postgres'
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._enter_queue(queue);
    v_all record;  -- the jobs as parallel arrays
    v_new record;  -- those that are not duplicates
    v_is_new boolean[];
    v_new_ids bigint[];
    v_outcomes pgbaton.enqueue_outcome[];
begin
    perform pgbaton._check_job_list(jobs);
    select * into v_all from pgbaton._parse_jobs(v_queue, jobs);
    if v_all.payloads is null then
        return;
    end if;
    perform pgbaton._check_batch(v_queue, v_all.payloads, v_all.singleton_keys);
    if v_all.debounces is not null then
        return query select * from unnest(pgbaton._replace_jobs(
            v_queue, v_all.payloads, v_all.singleton_keys, v_all.lane_ids, v_all.run_ats, v_all.options,
            v_all.dedup_ids, v_all.on_duplicates, v_all.debounces, v_all.max_waits, v_all.waits
        ));
        return;
    end if;
    v_is_new := pgbaton._register_dedup_ids(v_queue, v_all.dedup_ids, v_all.on_duplicates);

    select
        array_agg(u.payload) as payloads, array_agg(u.singleton_key) as singleton_keys,
        array_agg(u.lane_id) as lane_ids, array_agg(u.run_at) as run_ats,
        array_agg(row(u.a, u.b, u.c, u.d, u.e, u.f)::pgbaton.job_options) as options
    into v_new
    from unnest(v_all.payloads, v_all.singleton_keys, v_all.lane_ids, v_all.run_ats, v_is_new, v_all.options)
        as u (payload, singleton_key, lane_id, run_at, is_new, a, b, c, d, e, f)
    where u.is_new;

    v_new_ids := array(
        select i.id from pgbaton._add_jobs(
            v_queue, v_new.payloads, v_new.singleton_keys, v_new.lane_ids, v_new.run_ats, v_new.options,
            may_refuse => true
        ) as i (id)
    );
    if v_all.waits is null then
        return query select * from pgbaton._outcomes(v_queue, v_all.dedup_ids, v_is_new, v_new_ids);
        return;
    end if;
    v_outcomes := array(select o from pgbaton._outcomes(v_queue, v_all.dedup_ids, v_is_new, v_new_ids) as o);
    perform pgbaton._add_edges_of(v_all.waits, v_outcomes);
    return query select * from unnest(v_outcomes);
end;
$$;
comment on function pgbaton.enqueue_jobs(text, jsonb) is
'Adds many jobs, each with its own options: an array of objects with the parameters of enqueue_job as keys. Jobs of one
key keep the order of the array. Durations are interval text, instants ISO 8601 (UTC when they name no zone).

Returns a row for each job in input order, with one of these outcomes. enqueued: it was added. duplicate: the id is
that of the earlier job (with on_duplicate error the call raises PB006 instead). rejected and the reason: the policy of
the queue allows no further job of the key, and there is no id. Everything else is all or nothing.

With on_duplicate replace also replaced: the job took the place of an earlier one; or behind: the earlier job was
claimed and has not ended.
after_ordinals: places of earlier jobs of the array, from 1, for which the job waits as for those of after; on_failed
holds for both.
Raises what enqueue_job raises; the message says which job it is, counted from 1.';
