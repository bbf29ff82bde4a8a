create or replace function pgbaton._add_keyed(
    queue pgbaton.queue,
    lane_id integer,
    run_at timestamptz,
    payloads jsonb[],
    singleton_keys text[],
    lane_ids integer[] default null,
    run_ats timestamptz[] default null,
    options pgbaton.job_options[] default null,
    stored_ids bigint[] default null,
    stored_day date default null
)
returns bigint[]
language plpgsql volatile
as $$
declare
    v_has_paused constant boolean := exists (select from pgbaton.paused_key);
    v_now constant timestamptz := pgbaton._now();
    v_day constant date := coalesce(stored_day, pgbaton._day(v_now));
    v_is_fifo constant boolean := queue.policy = 'fifo';
    v_jobs constant integer := coalesce(cardinality(stored_ids), cardinality(payloads));
    v_keys constant text[] := case
        when array_lower(singleton_keys, 1) = 1 then singleton_keys
        else coalesce(singleton_keys[:], array_fill(null::text, array[v_jobs]))
    end;
    v_runs integer[];  -- where neighbours of one key, lane and time begin
    v_line_keys text[];  -- distinct
    v_firsts integer[];  -- of each of them the first job that stands in line
    v_free text[];
    v_first integer;
    v_heads integer[] := '{}';
    v_is_head boolean[] := array_fill(false, array[v_jobs]);
    v_ids bigint[];
    v_starts integer[];  -- the jobs with which a span begins
    v_spans record;  -- as parallel arrays: their ids and what their first jobs are
    v_tickets bigint[];
begin
    v_runs := array(
        select u.ordinal from (
            select generate_series(1, v_jobs) as ordinal, unnest(v_keys) as key, unnest(null::text || v_keys) as last_key
        ) as u
        where u.ordinal = 1 or (u.ordinal > 1 and u.key is distinct from u.last_key)
    );
    if num_nonnulls(lane_ids, run_ats) > 0 then
        v_runs := array(
            select unnest(v_runs)
            union
            select u.ordinal from (
                select
                    generate_series(1, v_jobs) as ordinal,
                    unnest(lane_ids) as lane_id, unnest(null::integer || lane_ids) as last_lane_id,
                    unnest(run_ats) as run_at, unnest(null::timestamptz || run_ats) as last_run_at
            ) as u
            where u.ordinal > 1
                and (u.lane_id is distinct from u.last_lane_id or u.run_at is distinct from u.last_run_at)
            order by 1
        );
    end if;
    -- Only a FIFO job holds its key while it waits for its time.
    select array_agg(k.line_key), array_agg(k.first) into v_line_keys, v_firsts
    from (
        select
            coalesce(v_keys[u.first], '') as line_key,
            min(u.first) filter (
                where v_is_fifo or coalesce(run_ats[u.first], _add_keyed.run_at, v_now) <= v_now
            ) as first
        from unnest(v_runs) as u (first)
        group by 1
    ) as k;
    perform pg_current_xact_id();  -- before a position is drawn: see _note_horizon
    perform pgbaton._lock_stripes(queue.id, v_line_keys);
    v_free := pgbaton._free_keys(queue.id, v_line_keys);
    for v_first in
        select k.first from unnest(v_line_keys, v_firsts) as k (line_key, first)
        inner join unnest(v_free) as f (line_key) on f.line_key = k.line_key
        where k.first is not null
    loop
        v_heads := v_heads || v_first;
        v_is_head[v_first] := true;
    end loop;

    if exists (select from pgbaton.sleeper) then
        perform pgbaton._wake(coalesce(lane_ids, '{}') || lane_id);
    end if;
    if stored_ids is not null then
        v_ids := stored_ids;
    else
        v_ids := array(select nextval('pgbaton.job_id_seq') from generate_series(1, v_jobs));
        insert into pgbaton.job (id, created_at, day, lane_id, singleton_key, options, payload)
        select
            u.id, v_now, v_day, coalesce(u.lane_id, _add_keyed.lane_id), u.singleton_key,
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
    if cardinality(v_runs) = v_jobs then
        select
            v_ids as los, v_ids as his, v_keys as singleton_keys,
            v_is_head as are_heads, _add_keyed.lane_ids, _add_keyed.run_ats
        into v_spans;
    else
        -- Neighbours that wait behind the same job share a span, cut where an id is a multiple of 64.
        v_starts := array(
            select u.ordinal from (
                select
                    generate_series(1, v_jobs) as ordinal, unnest(v_ids) as id, unnest(null::bigint || v_ids) as last_id
            ) as u
            where u.ordinal > 1 and (u.id is distinct from u.last_id + 1 or u.id & 63 = 1)
            union
            select unnest(v_runs)
            union
            select u.head + 1 from unnest(v_heads) as u (head) where u.head < v_jobs
            union
            select u.ordinal from (
                select generate_series(1, v_jobs) as ordinal, unnest(run_ats) as run_at
            ) as u
            where not v_is_fifo and coalesce(u.run_at, _add_keyed.run_at, v_now) > v_now
            order by 1
        );
        select
            array_agg(v_ids[u.first]) as los, array_agg(v_ids[u.next - 1]) as his,
            array_agg(v_keys[u.first]) as singleton_keys, array_agg(v_is_head[u.first]) as are_heads,
            array_agg(_add_keyed.lane_ids[u.first]) as lane_ids, array_agg(_add_keyed.run_ats[u.first]) as run_ats
        into v_spans
        from (select unnest(v_starts) as first, unnest(v_starts[2:] || (v_jobs + 1)) as next) as u;
    end if;
    -- The order of keys: a ticket is good for 64 ids, as a span is. What is claimable draws one of its own, since
    -- watermarks measure by them how many dead rows a claim may pass.
    v_tickets := array(
        select nextval('pgbaton.position_seq') from generate_series((v_ids[1] - 1) / 64, (v_ids[v_jobs] - 1) / 64)
    );
    insert into pgbaton.span (
        lo, hi, position, key_position, run_at, day, queue_id, lane_id, state, slot, ready, singleton_key,
        held_key, policy
    )
    select
        i.lo, i.hi, case when i.is_head then nextval('pgbaton.position_seq') else i.place end, i.place, i.run_at,
        v_day, queue.id, coalesce(i.lane_id, _add_keyed.lane_id),
        case
            when i.is_head or not (v_is_fifo or coalesce(i.run_at <= v_now, true))
                then 'pending'::pgbaton.job_state
            else 'waiting'
        end,
        case when i.is_head then pgbaton._slot(nullif(queue.policy, 'fifo'), 'pending', null, 0, i.line_key, i.lo) end,
        i.is_head and (i.run_at is null or i.run_at <= v_now)
            and not (v_has_paused and exists (
                select from pgbaton.paused_key as k where k.queue_id = queue.id and k.singleton_key = i.line_key
            )),
        i.line_key, case when i.is_head then i.line_key end, nullif(queue.policy, 'fifo')
    from (
        select
            u.lo, u.hi, v_tickets[(u.lo - 1) / 64 - (v_ids[1] - 1) / 64 + 1] + (u.lo - 1) % 64 as place, u.lane_id, u.is_head,
            coalesce(u.run_at, _add_keyed.run_at) as run_at, coalesce(u.singleton_key, '') as line_key
        from (
            select
                unnest(v_spans.los) as lo, unnest(v_spans.his) as hi,
                unnest(v_spans.lane_ids) as lane_id, unnest(v_spans.run_ats) as run_at,
                unnest(v_spans.singleton_keys) as singleton_key, unnest(v_spans.are_heads) as is_head
        ) as u
    ) as i;
    return v_ids;
end;
$$;
comment on function pgbaton._add_keyed(
    pgbaton.queue, integer, timestamptz, jsonb[], text[], integer[], timestamptz[], pgbaton.job_options[], bigint[],
    date
) is
'Adds jobs of a queue whose keys have a baton (fifo, singleton) in input order and returns their ids in that
order. The first job of an idle key gets the baton; of those that wait, neighbours of one key share a span. Of jobs
that are stored already, stored_ids are the ids and stored_day the day.';
