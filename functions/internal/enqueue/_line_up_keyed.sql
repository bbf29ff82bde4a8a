create or replace function pgbaton._line_up_keyed(
    queue pgbaton.queue,
    lane_id integer,
    run_at timestamptz,
    los bigint[],
    his bigint[],
    day date,
    singleton_keys text[],
    lane_ids integer[] default null,
    run_ats timestamptz[] default null
)
returns void
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_sleepers_from constant bigint := pgbaton._sleepers_from();
    v_is_fifo constant boolean := queue.policy = 'fifo';
    v_line_keys text[];  -- distinct
    v_firsts integer[];  -- of each of them the first span that stands in line
    v_free text[];
    v_first integer;
    v_is_head boolean[];
    v_first_block constant bigint := (los[1] - 1) / 64;
    v_last_block constant bigint := (his[cardinality(his)] - 1) / 64;
    v_tickets bigint[];  -- of each block of ids from there
begin
    if not v_is_fifo and num_nonnulls(run_at, run_ats) > 0 then
        -- Of other policies each waits for its time by itself.
        select
            array_agg(j.id), array_agg(j.id), array_agg(j.singleton_key), array_agg(j.lane_id), array_agg(j.run_at)
        into los, his, singleton_keys, lane_ids, run_ats
        from (
            select g.id, s.singleton_key, s.lane_id, s.run_at
            from unnest(los, his, singleton_keys, lane_ids, run_ats) as s (lo, hi, singleton_key, lane_id, run_at)
            cross join lateral generate_series(s.lo, s.hi) as g (id)
            order by g.id
        ) as j;
    end if;
    -- Only a FIFO job holds its key while it waits for its time.
    select array_agg(k.line_key), array_agg(k.first) into v_line_keys, v_firsts
    from (
        select
            coalesce(u.singleton_key, '') as line_key,
            min(u.ordinal) filter (
                where v_is_fifo or coalesce(u.run_at, _line_up_keyed.run_at, v_now) <= v_now
            ) as first
        from (
            select
                generate_series(1, cardinality(los)) as ordinal, unnest(singleton_keys) as singleton_key,
                unnest(run_ats) as run_at
        ) as u
        group by 1
    ) as k;
    v_free := pgbaton._free_keys(queue.id, v_line_keys);
    v_is_head := array_fill(false, array[cardinality(los)]);
    for v_first in
        select k.first from unnest(v_line_keys, v_firsts) as k (line_key, first)
        inner join unnest(v_free) as f (line_key) on f.line_key = k.line_key
        where k.first is not null
    loop
        v_is_head[v_first] := true;
        if los[v_first] < his[v_first] then  -- those behind it wait on
            los := los || (los[v_first] + 1);
            his := his || his[v_first];
            singleton_keys := singleton_keys || singleton_keys[v_first];
            lane_ids := lane_ids || lane_ids[v_first];
            run_ats := run_ats || run_ats[v_first];
            his[v_first] := los[v_first];
        end if;
    end loop;

    perform pg_current_xact_id();  -- before a position is drawn: see _note_horizon
    -- The order of keys: a ticket is good for 64 ids, as a span is. What is claimable draws one of its own, since
    -- watermarks measure by them how many dead rows a claim may pass.
    v_tickets := array(select nextval('pgbaton.position_seq') from generate_series(v_first_block, v_last_block));
    insert into pgbaton.span (
        lo, hi, position, key_position, run_at, day, queue_id, lane_id, state, slot, ready, singleton_key,
        held_key, policy
    )
    select
        i.lo, i.hi, case when i.is_head then nextval('pgbaton.position_seq') else i.place + (i.hi - i.lo) end, i.place,
        i.run_at,
        _line_up_keyed.day, queue.id, coalesce(i.lane_id, _line_up_keyed.lane_id),
        case
            when i.is_head or not (v_is_fifo or coalesce(i.run_at <= v_now, true))
                then 'pending'::pgbaton.job_state
            else 'waiting'
        end,
        case when i.is_head then pgbaton._slot(nullif(queue.policy, 'fifo'), 'pending', null, 0, i.line_key, i.lo) end,
        i.is_head and (i.run_at is null or i.run_at <= v_now), i.line_key, case when i.is_head then i.line_key end,
        nullif(queue.policy, 'fifo')
    from (
        select
            s.lo, s.hi, v_tickets[(s.lo - 1) / 64 - v_first_block + 1] + (s.lo - 1) % 64 as place, s.lane_id,
            coalesce(s.run_at, _line_up_keyed.run_at) as run_at, coalesce(s.singleton_key, '') as line_key,
            coalesce(s.is_head, false) as is_head
        from (
            select
                unnest(los) as lo, unnest(his) as hi, unnest(lane_ids) as lane_id, unnest(run_ats) as run_at,
                unnest(singleton_keys) as singleton_key, unnest(v_is_head) as is_head
        ) as s
    ) as i;
    if exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from) then
        perform pgbaton._wake(coalesce(lane_ids, '{}') || lane_id);
    end if;
end;
$$;
comment on function pgbaton._line_up_keyed(
    pgbaton.queue, integer, timestamptz, bigint[], bigint[], date, text[], integer[], timestamptz[]
) is
'Gives stored jobs of one day, of a queue whose keys have a baton (fifo, singleton), their places in line, and wakes who
waits for them. Their spans, as of _cut_into_spans, come in the order of their ids, under the producers'' locks of the
keys. The first job of an idle key gets the baton and a span of its own.';
