create or replace function pgbaton._take_place(
    place pgbaton.span, job_id bigint, lane_id integer, run_at timestamptz, payload jsonb, singleton_key text,
    options pgbaton.job_options, debounce interval, max_wait interval
)
returns void
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_since constant timestamptz := (
        select coalesce(j.waits_since, j.created_at) from pgbaton.job as j
        where j.id = place.lo and j.day = place.day
    );
    v_kept_at constant timestamptz := case
        when place.run_at < 'infinity' then place.run_at
        -- It waited for jobs, which the new one does not.
        when place.run_at = 'infinity' then (
            select w.run_at from pgbaton.job_wait as w where w.child_id = place.lo limit 1
        )
    end;
    -- Not before now: who looks for what is due has looked at earlier times.
    v_at constant timestamptz := greatest(v_now, case
        when debounce is null then coalesce(run_at, v_kept_at)
        else least(pgbaton._after(v_now, debounce), pgbaton._after(v_since, max_wait))
    end);
    v_span pgbaton.span := place;
begin
    insert into pgbaton.job (id, created_at, day, lane_id, singleton_key, options, payload, waits_since)
    values (job_id, v_now, pgbaton._day(v_now), lane_id, singleton_key, options, payload, v_since);
    v_span.held_key := null;  -- the new one keeps it
    perform pgbaton._end_replaced(array[v_span], job_id);
    v_span.held_key := place.held_key;
    v_span.lo := job_id;
    v_span.hi := job_id;
    v_span.day := pgbaton._day(v_now);
    v_span.lane_id := lane_id;
    v_span.singleton_key := coalesce(singleton_key, case when place.policy is not null then '' end);
    perform pgbaton._reschedule(array[v_span], v_at);
    if v_at <= v_now and not place.ready and place.state = 'pending' and place.policy in ('singleton', 'stately') then
        perform pgbaton._make_due(v_at, v_at, 1, only_lo => job_id);  -- into the line of its key
    end if;
    if lane_id <> place.lane_id and place.ready and v_at <= v_now then
        insert into pgbaton.rewind (lane_id, position)
        values (_take_place.lane_id, place.position);  -- it may lie below the watermark of the lane
    end if;
end;
$$;
comment on function pgbaton._take_place(
    pgbaton.span, bigint, integer, timestamptz, jsonb, text, pgbaton.job_options, interval, interval
) is
'Adds a job in the place of one that was taken out and never claimed, which ends. It runs at its own time, else at that
of the place; debounced: so long after now, but not later than max_wait after the first one of the place.';
