create or replace function pgbaton._pick_spans(
    queue_ids integer[], job_types text[], tags text[], batch_size integer,
    out los bigint[], out first_day date, out last_day date, out cut pgbaton.span
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_ready cursor (a_lane_id integer, a_from bigint, a_to bigint) for
        select s.* from pgbaton.span as s
        where s.lane_id = a_lane_id and s.ready and s.position between a_from and a_to
        order by s.lane_id, s.position
        for update skip locked;
    v_lanes record;  -- candidates as parallel arrays
    v_next record;  -- the lane to serve and the position up to which it comes first
    v_span pgbaton.span;
    v_missing bigint := batch_size;
begin
    los := '{}';
    select
        array_agg(h.lane_id) as ids, array_agg(h.priority) as priorities, array_agg(h.head) as heads,
        array_agg(h.start) as starts, array_agg(h.is_behind) as are_behind
    into v_lanes
    from pgbaton._lane_heads(queue_ids, job_types, tags, batch_size) as h;

    loop
        select l.ordinal, l.head, lead(l.head, 1, 9223372036854775807) over w as until
        into v_next
        from unnest(v_lanes.priorities, v_lanes.heads) with ordinality as l (priority, head, ordinal)
        where l.head is not null
        window w as (partition by l.priority order by l.head)
        order by l.priority desc, l.head
        limit 1;
        exit when not found;

        open v_ready(v_lanes.ids[v_next.ordinal], v_next.head, v_next.until);
        loop
            -- One by one: locking more spans than are needed would starve the other workers.
            fetch v_ready into v_span;
            exit when not found;
            first_day := least(first_day, v_span.day);
            last_day := greatest(last_day, v_span.day);
            v_missing := v_missing - (v_span.hi - v_span.lo + 1);
            exit when v_missing < 0;
            los := los || v_span.lo;
            exit when v_missing = 0;
        end loop;
        close v_ready;

        if v_missing < 0 then
            cut := pgbaton._cut(v_span, v_span.hi - v_span.lo + 1 + v_missing);
        end if;
        if v_lanes.are_behind[v_next.ordinal] then
            perform pgbaton._advance(v_lanes.ids[v_next.ordinal], v_lanes.starts[v_next.ordinal]);
            v_lanes.are_behind[v_next.ordinal] := false;
        end if;
        exit when v_missing <= 0;
        v_lanes.heads[v_next.ordinal] := (
            select s.position from pgbaton.span as s
            where s.lane_id = v_lanes.ids[v_next.ordinal] and s.ready and s.position > v_next.until
            order by s.lane_id, s.position
            limit 1
        );
    end loop;
end;
$$;
comment on function pgbaton._pick_spans(integer[], text[], text[], integer) is
'Locks the spans of the next batch_size claimable jobs, over all lanes that match by priority and position. los
are spans to take whole; cut is the part of the last one, already split off; both are of the days from
first_day to last_day.';
