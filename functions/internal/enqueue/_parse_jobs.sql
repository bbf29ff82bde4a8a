create or replace function pgbaton._parse_jobs(
    queue pgbaton.queue, jobs jsonb, row_no bigint default null,
    out payloads jsonb[], out singleton_keys text[], out lane_ids integer[], out run_ats timestamptz[],
    out options pgbaton.job_options[], out dedup_ids text[], out on_duplicates text[], out waits jsonb[],
    out debounces interval[], out max_waits interval[]
)
language plpgsql volatile
as $$
declare
    v_hint text;
    v_state text;
begin
    with parsed as materialized (
        select
            e.ordinal, coalesce(e.job -> 'payload', '{}') as payload, coalesce(r.priority, 100) as priority,
            coalesce(r.job_type, '') as job_type, pgbaton._normal_tags(coalesce(r.tags, '{}')) as tags,
            r.singleton_key, pgbaton._check_run_at(r.run_at, r.delay) as run_at, r.dedup_id, r.on_duplicate,
            r.max_attempts, r.retry_delay, r.retry_backoff, r.backoff_schedule, r.keys_if_undelivered,
            r.headers, case when num_nonnulls(r.after, r.after_ordinals, r.on_failed) > 0 then pgbaton._wait_of_job(
                r.after, r.after_ordinals, r.on_failed, pgbaton._check_run_at(r.run_at, r.delay),
                coalesce(row_no, e.ordinal)
            ) end as wait, r.debounce, r.max_wait,
            case
                when r.on_duplicate = 'replace' or num_nonnulls(r.debounce, r.max_wait) > 0 then pgbaton._check_replace(
                    queue, r.dedup_id, r.on_duplicate, num_nonnulls(r.run_at, r.delay) > 0,
                    num_nonnulls(r.after, r.after_ordinals) > 0, r.debounce, r.max_wait
                )
            end as replaces
        from jsonb_array_elements(jobs) with ordinality as e (job, ordinal)
        cross join lateral jsonb_to_record(e.job) as r (
            priority integer, singleton_key text, job_type text, tags text[], run_at timestamptz, delay interval,
            max_attempts integer, retry_delay interval, retry_backoff boolean, backoff_schedule interval[],
            keys_if_undelivered jsonb, dedup_id text, on_duplicate text, headers jsonb, after bigint[],
            after_ordinals integer[], on_failed text, debounce interval, max_wait interval
        )
    ), lanes as materialized (
        select d.*, pgbaton._lane_id(queue, d.priority, d.job_type, d.tags) as lane_id
        from (select distinct p.priority, p.job_type, p.tags from parsed as p offset 0) as d
    )
    select
        array_agg(p.payload order by p.ordinal), array_agg(p.singleton_key order by p.ordinal),
        array_agg(l.lane_id order by p.ordinal),
        array_agg(case when p.wait is null then p.run_at else 'infinity' end order by p.ordinal),
        array_agg(
            case when num_nonnulls(
                p.max_attempts, p.retry_delay, p.retry_backoff, p.backoff_schedule, p.keys_if_undelivered, p.headers
            ) > 0 then pgbaton._job_options(
                p.max_attempts, p.retry_delay, p.retry_backoff, p.backoff_schedule, p.keys_if_undelivered, p.headers
            ) end
            order by p.ordinal
        ),
        array_agg(p.dedup_id order by p.ordinal), array_agg(p.on_duplicate order by p.ordinal),
        case when count(p.wait) > 0 then array_agg(p.wait order by p.ordinal) end,
        case when count(p.replaces) > 0 then array_agg(p.debounce order by p.ordinal) end,
        case when count(p.replaces) > 0 then array_agg(p.max_wait order by p.ordinal) end
    into payloads, singleton_keys, lane_ids, run_ats, options, dedup_ids, on_duplicates, waits, debounces, max_waits
    from parsed as p
    inner join lanes as l on (l.priority, l.job_type, l.tags) = (p.priority, p.job_type, p.tags);
exception
    when invalid_text_representation or invalid_datetime_format or datetime_field_overflow
        or interval_field_overflow or numeric_value_out_of_range or invalid_parameter_value or null_value_not_allowed
        or sqlstate 'PB010' or sqlstate 'PB011'
    then
        get stacked diagnostics v_hint = pg_exception_hint, v_state = returned_sqlstate;
        -- Which one it is: the first that is not taken by itself.
        if row_no is null then
            perform pgbaton._parse_jobs(queue, jsonb_build_array(e.job), e.ordinal)
            from jsonb_array_elements(jobs) with ordinality as e (job, ordinal);
        end if;
        if v_state in ('22004', '22023', 'PB010', 'PB011') then
            raise exception using
                errcode = v_state, message = concat('job ' || row_no || ': ', sqlerrm), hint = v_hint;
        end if;
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('job %s has a value of the wrong type: %s', row_no, sqlerrm),
            hint = 'The values are those of the parameters of pgbaton.enqueue_job(): numbers, ISO instants, intervals.';
end;
$$;
comment on function pgbaton._parse_jobs(pgbaton.queue, jsonb, bigint) is
'Jobs of enqueue_jobs as parallel arrays, nulls when there are none. Makes their lanes. Raises 22004, 22023,
PB010 or PB011, and says which job it is; row_no: the only job''s place in its list.';
