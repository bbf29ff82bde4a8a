create or replace function pgbaton._add_batch(
    queue pgbaton.queue,
    lane_id integer,
    run_at timestamptz,
    payloads jsonb[],
    singleton_keys text[] default null,
    lane_ids integer[] default null,
    run_ats timestamptz[] default null,
    options pgbaton.job_options[] default null
)
returns bigint[]
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_day constant date := pgbaton._day(v_now);
    v_is_plain constant boolean := queue.policy = 'standard';
    v_keys constant text[] := case
        when v_is_plain then singleton_keys
        else coalesce(singleton_keys, array_fill(null::text, array[cardinality(payloads)]))
    end;
    v_ids bigint[];
    v_spans record;  -- as parallel arrays
begin
    if not v_is_plain then
        perform pgbaton._lock_stripes(queue.id, v_keys);
    end if;
    v_ids := array(select nextval('pgbaton.job_id_seq') from (select generate_series(1, cardinality(payloads))) as n);
    if num_nonnulls(v_keys, lane_ids, options) = 0 then
        insert into pgbaton.job (id, created_at, day, lane_id, payload)
        select unnest(v_ids), v_now, v_day, _add_batch.lane_id, unnest(payloads);
    else
        insert into pgbaton.job (id, created_at, day, lane_id, singleton_key, options, payload)
        select
            u.id, v_now, v_day, coalesce(u.lane_id, _add_batch.lane_id), u.singleton_key,
            case when options is not null then pgbaton._job_options(
                (u.option).max_attempts, (u.option).retry_delay, (u.option).retry_backoff, (u.option).backoff_schedule,
                (u.option).keys_if_undelivered, (u.option).headers
            ) end, u.payload
        from (
            select
                unnest(v_ids) as id, unnest(lane_ids) as lane_id, unnest(v_keys) as singleton_key,
                unnest(options) as option, unnest(payloads) as payload
        ) as u;
    end if;
    v_spans := pgbaton._cut_into_spans(v_ids, v_keys, lane_ids, run_ats, is_alone => v_is_plain);
    if v_is_plain then
        perform pgbaton._line_up_plain(
            queue, lane_id, run_at, v_spans.los, v_spans.his, v_day, v_spans.span_keys, v_spans.span_lane_ids,
            v_spans.span_run_ats
        );
    else
        perform pgbaton._line_up_keyed(
            queue, lane_id, run_at, v_spans.los, v_spans.his, v_day, v_spans.span_keys, v_spans.span_lane_ids,
            v_spans.span_run_ats
        );
    end if;
    return v_ids;
end;
$$;
comment on function pgbaton._add_batch(
    pgbaton.queue, integer, timestamptz, jsonb[], text[], integer[], timestamptz[], pgbaton.job_options[]
) is
'Adds jobs of a standard queue, or of one whose keys have a baton (fifo, singleton), in input order and returns their
ids in that order. lane_id and run_at hold for all rows whose own entry in lane_ids or run_ats is null.';
