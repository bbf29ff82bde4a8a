create or replace function pgbaton.claim_job_batch(
    worker_id text,
    queues text[] default null,
    job_types text[] default null,
    tags text[] default '{}',
    batch_size integer default 10,
    lease interval default null
)
returns setof pgbaton.claimed_job
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_tags constant text[] := case when tags = '{}' then tags else pgbaton._normal_tags(tags) end;
    v_queue pgbaton.queue;  -- the only one that is asked for, then that of v_span
    v_ids integer[];  -- of the queues that may be claimed from, as _claimable_queues has them
    v_plain_ids integer[];
    v_limited_ids integer[];
    v_lease interval;
    v_open_ids integer[];
    v_free pgbaton.permit[];
    v_is_tending boolean;
    v_unsettled_from bigint := pgbaton._unsettled_from();
    v_token bigint;
    v_lanes pgbaton.lanes;
    v_picked record;
    v_permits pgbaton.permit[];
    v_span pgbaton.span;  -- the only one of the claim
    v_lane record;  -- that of v_span
    v_spans pgbaton.span[];
    v_keyed record;
    v_to_share pgbaton.span[];
    v_full_los bigint[];  -- which of them are the last that may run of their keys
    v_started pgbaton.span[];  -- under a limit, in earlier rounds
    v_first_day date;
    v_last_day date;
    v_claimed_at timestamptz;
    v_claimed bigint;
    v_missing integer := batch_size;
begin
    if not pgbaton._is_read_committed() then
        perform pgbaton._pass_on();
    elsif cardinality(queues) = 1 then
        select q.* into v_queue from pgbaton.queue as q where q.name = queues[1];
    end if;
    if v_queue.id is null then
        select * into v_ids, v_plain_ids, v_limited_ids, v_lease from pgbaton._claimable_queues(queues);
    else
        -- As most workers ask: it costs half as much.
        if pgbaton._has_grants() then
            perform pgbaton._require_action(v_queue, 'work');
        end if;
        v_ids := case when not v_queue.is_paused then array[v_queue.id] end;
        v_plain_ids := case when v_queue.policy = 'standard' then v_ids end;
        v_limited_ids := case when v_queue.is_limited then v_ids end;
        v_lease := v_queue.lease;
    end if;
    v_is_tending := not pgbaton._is_tended(v_now);
    -- What is plainly right needs no call: a statement is started for it.
    if (octet_length(worker_id) between 1 and 255 and batch_size between 1 and 100000
        and num_nonnulls(job_types, lease) = 0) is not true
    then
        perform pgbaton._check_claim(worker_id, job_types, batch_size, lease);
    end if;
    <<batch>>
    loop
        loop
            if v_is_tending then
                perform pgbaton._tend(v_now);
            elsif v_unsettled_from is not null then
                perform pgbaton._pass_on();
            end if;
            if v_unsettled_from is not null or v_is_tending then
                v_unsettled_from := pgbaton._unsettled_from();
            end if;
            if v_limited_ids is null then
                v_open_ids := v_ids;
            else
                select * into v_open_ids, v_free
                from pgbaton._open_queues(v_ids, v_limited_ids, v_missing + 1);
                exit batch when v_open_ids = '{}';  -- upkeep ten times a second will do where nothing may start
            end if;
            v_lanes := null;
            if v_queue.policy = 'standard' and not (v_queue.is_paused or v_queue.is_limited or v_is_tending)
                and v_unsettled_from is null and v_missing <= 64  -- as many as a span has
            then
                v_lane := pgbaton._cut_first(v_queue.id, job_types, v_tags, v_missing);
                v_span := v_lane.cut;
                exit when v_span.lo is not null;
                v_lanes := v_lane.lanes;
                if v_lanes.lane_ids is not null and v_lanes.heads[1] is null then
                    v_is_tending := true;  -- as below
                    continue;
                end if;
            end if;
            if v_lanes.lane_ids is null then
                v_lanes := pgbaton._lane_starts(v_open_ids, v_plain_ids, job_types, v_tags, v_unsettled_from);
            end if;
            v_picked := pgbaton._pick_spans(v_lanes, v_limited_ids, v_missing, v_free);
            v_permits := v_picked.permits;
            exit when v_picked.jobs > 0;
            exit batch when v_is_tending;
            v_is_tending := true;  -- nothing is handed out without a look at what may have become due
        end loop;
        if v_token is null then
            if pg_sequence_last_value('pgbaton.sleeper_id_seq') is not null then
                perform pgbaton._wake_up(worker_id);
            end if;
            if lease is not null then
                perform pgbaton._wake_for_lease(v_ids, pgbaton._after(v_now, lease));
            end if;
        end if;
        if v_span.lo is null then
            if v_picked.has_twins then
                perform pgbaton._set_aside(v_picked.los);
            end if;
            if cardinality(v_picked.los) = 0 and 1 = cardinality(v_picked.his) + cardinality(v_picked.lone_his)
                + ((v_picked.cut).lo is not null)::integer
            then
                v_span := v_picked.cut;
                if v_span.lo is null then
                    delete from pgbaton.ready_span as s
                    where s.hi = coalesce(v_picked.his[1], v_picked.lone_his[1])
                    returning s.* into v_span;
                end if;
                select l.priority, l.job_type, l.tags as lane_tags into v_lane
                from pgbaton.lane as l where l.id = v_span.lane_id;
            end if;
        end if;
        v_token := coalesce(v_token, nextval('pgbaton.lease_token_seq'));
        -- A later time than v_now: a job of a key is not claimed before the one before it has ended.
        v_claimed_at := pgbaton._now();
        if v_span.lo is not null then
            -- All from one span, as it is with small batches: the same as below, for one row.
            if v_queue.id is null or pg_sequence_last_value('pgbaton.edge_seq') is not null then
                -- One of several; or there are limits, and since it was looked for it may have got its first.
                select q.* into v_queue from pgbaton.queue as q where q.id = v_span.queue_id;
            end if;
            if v_queue.is_limited then
                if v_permits is null then
                    perform pgbaton._refuse_unlimited(v_queue.name);
                end if;
                perform pgbaton._hold_permits(v_permits, array[v_span], v_started, v_token, v_claimed_at);
            end if;
            v_span.lease_until := pgbaton._after(v_claimed_at, coalesce(lease, v_queue.lease));
            insert into pgbaton.leased_span (
                lo, hi, position, lease_token, lease_until, claimed_at, started_at, run_at, day, queue_id, lane_id,
                state, attempt, extra_attempts, ready, singleton_key, worker_id
            )
            values (
                v_span.lo, v_span.hi, v_span.position, v_token, v_span.lease_until, v_claimed_at, v_span.started_at,
                v_span.run_at, v_span.day, v_span.queue_id, v_span.lane_id, 'active', v_span.attempt + 1,
                v_span.extra_attempts, false, v_span.singleton_key, worker_id
            );
            return query
            select
                j.id, v_queue.name, v_lane.job_type, v_lane.lane_tags, v_lane.priority, v_span.singleton_key,
                v_span.attempt + 1,
                coalesce((j.options).max_attempts, v_queue.max_attempts) + coalesce(v_span.extra_attempts, 0),
                j.payload, j.created_at, v_span.run_at, v_claimed_at, v_span.lease_until, v_token, (j.options).headers
            from pgbaton.job as j
            where j.day = v_span.day and j.id between v_span.lo and v_span.hi
            order by j.id;
            exit;
        end if;
        v_spans := null;
        if cardinality(v_picked.his || v_picked.lone_his) > 0 or (v_picked.cut).lo is not null then
            v_spans := pgbaton._lease(
                v_picked.his, v_picked.lone_his, v_picked.cut, worker_id, v_token, v_claimed_at,
                coalesce(lease, v_lease)
            );
        end if;
        if cardinality(v_picked.los) > 0 then
            v_keyed := pgbaton._lease_keyed(
                v_picked.los, v_limited_ids, worker_id, v_token, v_claimed_at, coalesce(lease, v_lease)
            );
            v_spans := v_spans || v_keyed.spans;
            if v_limited_ids is not null then
                v_to_share := v_to_share || v_spans;
                v_full_los := v_full_los || v_keyed.full_los;
            end if;
        end if;
        select min(s.day), max(s.day) into v_first_day, v_last_day from unnest(v_spans) as s;
        if v_permits is not null then
            perform pgbaton._hold_permits(v_permits, v_spans, v_started, v_token, v_claimed_at);
            v_started := v_started || v_spans;
        end if;
        return query
        with in_line as (
            select
                s.lo, s.hi, s.day, s.attempt, s.extra_attempts, s.run_at, s.lease_until, s.singleton_key, s.position,
                q.name as queue, q.max_attempts, l.job_type, l.tags, l.priority
            from unnest(v_spans) as s
            -- Each by its id: joined to its queue, all its lanes would be read when statistics say that they are few.
            cross join lateral (
                select n.job_type, n.tags, n.priority from pgbaton.lane as n where n.id = s.lane_id offset 0
            ) as l
            cross join lateral (
                select n.name, n.max_attempts, n.is_limited from pgbaton.queue as n where n.id = s.queue_id offset 0
            ) as q
            where not q.is_limited or s.queue_id = any (v_limited_ids) or pgbaton._refuse_unlimited(q.name)
            order by l.priority desc, s.position
        )
        -- Spans in line and the jobs of each in order: nothing is left to sort.
        select
            j.id, s.queue, s.job_type, s.tags, s.priority, s.singleton_key, s.attempt,
            coalesce((j.options).max_attempts, s.max_attempts) + coalesce(s.extra_attempts, 0),
            j.payload, j.created_at, s.run_at, v_claimed_at, s.lease_until, v_token,
            (j.options).headers
        from in_line as s
        cross join lateral (
            -- The days are parameters, so that only their partitions are opened.
            select k.id, k.options, k.payload, k.created_at
            from pgbaton.job as k
            where k.day = s.day and k.day >= v_first_day and k.day <= v_last_day and k.id between s.lo and s.hi
            order by k.id
            offset 0
        ) as j
        order by s.priority desc, s.position;
        get diagnostics v_claimed = row_count;
        exit when v_claimed = v_picked.jobs;
        -- Of a key that is paused or broken: others instead.
        perform pgbaton._set_aside(v_picked.los);
        v_ids := pgbaton._still_open(v_ids, v_limited_ids, v_to_share);
        v_missing := v_missing - v_claimed;
        v_unsettled_from := pgbaton._unsettled_from();
    end loop;
    -- At last, so that no job is the second one of its key.
    if v_to_share is not null then
        perform pgbaton._share_keys(v_to_share, v_full_los);
    end if;
end;
$$;
comment on function pgbaton.claim_job_batch(text, text[], text[], text[], integer, interval) is
'Leases up to batch_size jobs to a worker and returns them, or none if no job is claimable: jobs of the queues (null:
all), of the job types (null: all), that carry all of the tags ({}: all), by priority, then in line. At most one job of
a FIFO key is out at a time, and never more jobs than the limits of the queue allow (set_queue_limits). Within the
batch, jobs without a key that one session enqueued one by one come together.

lease: how long the jobs are held (default: that of the queue). Every later call shows the lease_token.
Raises PB001 for an unknown queue, PB009, 2202E, 22004 or 22023 for a bad argument, and 40001 when its queue gets its
first limits at that very moment.';
