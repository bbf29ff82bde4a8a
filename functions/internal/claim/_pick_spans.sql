create or replace function pgbaton._pick_spans(
    lanes pgbaton.lanes, limited_ids integer[], batch_size integer, free pgbaton.permit[],
    out his bigint[], out lone_his bigint[], out cut pgbaton.span, out los bigint[], out jobs bigint,
    out has_twins boolean, out permits pgbaton.permit[]
)
language plpgsql volatile
as $$
declare
    v_plain cursor (a_lane_id integer, a_from bigint, a_to bigint) for
        select s.lo, s.hi, s.position, num_nonnulls(s.singleton_key, s.claimed_at, s.run_at) as marks
        from pgbaton.ready_span as s
        where s.lane_id = a_lane_id and s.position between a_from and a_to
        order by s.lane_id, s.position
        for update skip locked;
    v_ordered cursor (a_lane_id integer, a_from bigint, a_to bigint) for
        select s.lo, s.hi, s.position, s.held_key from only pgbaton.span as s
        where s.lane_id = a_lane_id and s.ready and s.position between a_from and a_to
        order by s.lane_id, s.position
        for update skip locked;
    v_last constant bigint := 9223372036854775807;
    v_lanes pgbaton.lanes := lanes;
    v_begin bigint;  -- where the scan of a single one begins
    v_lane integer;  -- the one to serve
    v_until bigint;  -- the position up to which it comes first, or is looked at in one go
    v_first bigint;  -- the first position that was found in it
    v_step constant bigint := 1024 * least(batch_size, 16);  -- about sixteen claims: each span leaves one dead entry
    v_span record;
    v_keys text[] := '{}';
    v_missing bigint := batch_size;
    v_room bigint;  -- how many jobs of a span may be taken
    v_gate integer;  -- which of limited_ids
    v_kinds pgbaton.limit_kind[];  -- which limits it has, known once nobody can change them
    v_is_counted boolean;  -- whether they need permits
    v_has_key_rate boolean;
    v_admitted bigint[];  -- of each of them; null is none
    v_later timestamptz;  -- when the rate of its key lets a job start
    v_later_lanes integer[];  -- of those that it does not now
    v_next_at timestamptz;  -- the first of these times
begin
    his := '{}';
    los := '{}';
    lone_his := '{}';
    if cardinality(v_lanes.lane_ids) > 1 then  -- the scan of a single one finds out itself what is there
        v_lanes := pgbaton._lane_heads(v_lanes, batch_size);
    else
        v_lanes.heads := coalesce(v_lanes.heads, v_lanes.starts);
        v_begin := v_lanes.heads[1];
    end if;

    loop
        if cardinality(v_lanes.lane_ids) > 1 then
            select l.ordinal, lead(l.head, 1, v_last) over w
            into v_lane, v_until
            from unnest(v_lanes.priorities, v_lanes.heads) with ordinality as l (priority, head, ordinal)
            where l.head is not null
            window w as (partition by l.priority order by l.head)
            order by l.priority desc, l.head
            limit 1;
            exit when not found;
        else
            v_lane := 1;
            exit when v_lanes.heads[v_lane] is null;
            -- A scan reads all of a page of the index that is within its bounds, although a few entries will do: one
            -- span stands every 64 positions or so. Without a bound when that was not enough.
            v_until := case
                when v_lanes.heads[v_lane] = v_begin then v_begin + 64 * (32 + v_missing)
                else v_last
            end;
        end if;
        v_first := null;

        if limited_ids is not null then
            v_gate := (
                select array_position(limited_ids, l.queue_id) from pgbaton.lane as l
                where l.id = v_lanes.lane_ids[v_lane]
            );
            v_kinds := null;
        end if;
        -- One by one: locking more spans than are needed would starve the other workers.
        if v_lanes.are_plain[v_lane] then
            open v_plain(v_lanes.lane_ids[v_lane], v_lanes.heads[v_lane], v_until);
            while v_missing > 0 loop
                fetch v_plain into v_span;
                exit when not found;
                if v_first is null then
                    v_first := v_span.position;
                end if;
                if v_gate is not null then
                    v_room := least(v_missing, v_span.hi - v_span.lo + 1);
                    select a.permits, a.admitted into permits, v_room
                    from pgbaton._admit(
                        limited_ids[v_gate], v_room, coalesce(v_admitted[v_gate], 0), free, batch_size + 1, permits
                    ) as a;
                    v_admitted[v_gate] := coalesce(v_admitted[v_gate], 0) + v_room;
                    exit when v_room = 0;
                    if v_room < v_missing and v_room <= v_span.hi - v_span.lo then
                        -- The rest stays in line, and other queues go on.
                        perform pgbaton._split(v_span.lo, v_span.lo + v_room - 1);
                        his := his || (v_span.lo + v_room - 1);
                        v_missing := v_missing - v_room;
                        v_room := 0;
                        exit;
                    end if;
                end if;
                if v_span.hi - v_span.lo >= v_missing then  -- it has more
                    update pgbaton.ready_span as s set lo = s.lo + v_missing
                    where s.hi = v_span.hi
                    returning s.* into cut;
                    cut.lo := v_span.lo;
                    cut.hi := v_span.lo + v_missing - 1;
                    cut.position := cut.position - (v_span.hi - cut.hi);
                    v_missing := 0;
                else
                    if v_span.hi = v_span.lo and v_span.marks = 0 then
                        lone_his := lone_his || v_span.hi;
                    else
                        his := his || v_span.hi;
                    end if;
                    v_missing := v_missing - (v_span.hi - v_span.lo + 1);
                end if;
            end loop;
            close v_plain;
        else
            open v_ordered(v_lanes.lane_ids[v_lane], v_lanes.heads[v_lane], v_until);
            while v_missing > 0 loop
                fetch v_ordered into v_span;
                exit when not found;
                if v_first is null then
                    v_first := v_span.position;
                end if;
                v_room := least(v_missing, v_span.hi - v_span.lo + 1);
                if v_gate is not null then
                    if v_kinds is null or v_is_counted then
                        select a.permits, a.admitted into permits, v_room
                        from pgbaton._admit(
                            limited_ids[v_gate], v_room, coalesce(v_admitted[v_gate], 0), free, batch_size + 1, permits
                        ) as a;
                        if v_kinds is null then
                            v_kinds := pgbaton._kinds_of_limits(limited_ids[v_gate]);
                            v_is_counted := v_kinds && '{running,rate,burst}';
                            v_has_key_rate := v_kinds && '{key_rate}';
                        end if;
                        exit when v_room = 0;
                    end if;
                    if v_has_key_rate and v_span.held_key <> '' then
                        v_later := pgbaton._start_later(v_span.lo, limited_ids[v_gate], v_span.held_key);
                        if v_later is not null then  -- its permit is for the next one
                            v_later_lanes := v_later_lanes || v_lanes.lane_ids[v_lane];
                            v_next_at := least(v_next_at, v_later);
                            continue;
                        end if;
                    end if;
                    if v_is_counted then
                        v_admitted[v_gate] := coalesce(v_admitted[v_gate], 0) + v_room;
                    end if;
                end if;
                los := los || v_span.lo;
                if v_span.held_key is not null then
                    v_keys := v_keys || v_span.held_key;
                end if;
                v_missing := v_missing - v_room;
                if v_room <= v_span.hi - v_span.lo then
                    perform pgbaton._split(v_span.lo, v_span.lo + v_room - 1);
                    if v_missing > 0 then  -- the rest stays in line
                        v_room := 0;
                        exit;
                    end if;
                end if;
            end loop;
            close v_ordered;
        end if;
        if v_first >= v_lanes.watermarks[v_lane] + v_step or v_lanes.starts[v_lane] < v_lanes.watermarks[v_lane] then
            perform pgbaton._advance(
                v_lanes.lane_ids[v_lane], v_lanes.are_plain[v_lane], v_lanes.starts[v_lane], v_step / 2
            );
            v_lanes.watermarks[v_lane] := v_last - v_step;  -- once a claim
            v_lanes.starts[v_lane] := v_last;
        end if;
        exit when v_missing <= 0;
        if v_gate is not null and v_room = 0 then
            -- Of this queue no more may start.
            v_lanes.heads := array(
                select case when limited_ids[v_gate] <> (
                    select l.queue_id from pgbaton.lane as l where l.id = h.lane_id
                ) then h.head end
                from unnest(v_lanes.lane_ids, v_lanes.heads) with ordinality as h (lane_id, head, ordinal)
                order by h.ordinal
            );
            continue;
        end if;
        v_lanes.heads[v_lane] := case
            when v_until = v_last then null
            when cardinality(v_lanes.lane_ids) = 1 then v_until + 1
            else pgbaton._next_head(v_lanes.lane_ids[v_lane], v_lanes.are_plain[v_lane], v_until)
        end;
    end loop;
    jobs := batch_size - greatest(v_missing, 0);
    if v_later_lanes is not null then
        perform pgbaton._wake(v_later_lanes, v_next_at);
    end if;
    if cardinality(v_keys) > 1 then
        has_twins := cardinality(v_keys) > (select count(distinct k.key) from unnest(v_keys) as k (key));
    end if;
end;
$$;
comment on function pgbaton._pick_spans(pgbaton.lanes, integer[], integer, pgbaton.permit[]) is
'Locks the spans of the next batch_size claimable jobs, over all of the lanes by priority and position.
Of standard queues these are the spans of ready_span that end with lone_his, each of one job without a key
that nobody had yet, those that end with his, and what was cut off the front of another one.
Of all others they are the spans that begin with los. jobs: how many they are. has_twins: two of them hold keys of one
name. What the rate of its key does not let start is put off, and others are taken.
permits: what it locked for those of limited queues, see _admit; null if there are none. free: those that _open_queues
found when it looked for one more than batch_size.';
