create or replace function pgbaton._pick_spans(
    queue_ids integer[], job_types text[], tags text[], batch_size integer,
    out los bigint[], out lone_los bigint[], out resized_los bigint[], out resized_his bigint[],
    out first_day date, out last_day date
)
language plpgsql volatile
as $$
declare
    v_ready cursor (a_lane_id integer, a_from bigint, a_to bigint) for
        select s.* from pgbaton.span as s
        where s.lane_id = a_lane_id and s.ready and s.position between a_from and a_to
        order by s.lane_id, s.position
        for update skip locked;
    v_last constant bigint := 9223372036854775807;
    v_lanes record;  -- candidates as parallel arrays
    v_lane integer;  -- the one to serve
    v_until bigint;  -- the position up to which it comes first
    v_span pgbaton.span;
    v_missing bigint := batch_size;
begin
    los := '{}';
    lone_los := '{}';
    select
        array_agg(h.lane_id) as ids, array_agg(h.priority) as priorities, array_agg(h.head) as heads,
        array_agg(h.start) as starts, array_agg(h.is_behind) as are_behind
    into v_lanes
    from pgbaton._lane_heads(queue_ids, job_types, tags, batch_size) as h;

    loop
        if cardinality(v_lanes.ids) > 1 then
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
            v_until := v_last;
            exit when v_lanes.heads[v_lane] is null;
        end if;

        open v_ready(v_lanes.ids[v_lane], v_lanes.heads[v_lane], v_until);
        loop
            -- One by one: locking more spans than are needed would starve the other workers.
            fetch v_ready into v_span;
            exit when not found;
            first_day := least(first_day, v_span.day);
            last_day := greatest(last_day, v_span.day);
            if v_span.hi > v_span.lo or v_span.singleton_key is not null then
                los := los || v_span.lo;
            else
                lone_los := lone_los || v_span.lo;
            end if;
            v_missing := v_missing - (v_span.hi - v_span.lo + 1);
            exit when v_missing <= 0;
        end loop;
        close v_ready;

        if v_missing < 0 then
            resized_los := array[v_span.lo];
            resized_his := array[v_span.hi + v_missing];
            perform pgbaton._put_back(v_span, v_span.hi + v_missing + 1, v_span.hi);
        end if;
        if v_lanes.are_behind[v_lane] then
            perform pgbaton._advance(v_lanes.ids[v_lane], v_lanes.starts[v_lane]);
            v_lanes.are_behind[v_lane] := false;
        end if;
        exit when v_missing <= 0;
        v_lanes.heads[v_lane] := case
            when v_until < v_last then (
                select s.position from pgbaton.span as s
                where s.lane_id = v_lanes.ids[v_lane] and s.ready and s.position > v_until
                order by s.lane_id, s.position
                limit 1
            )
        end;
    end loop;
end;
$$;
comment on function pgbaton._pick_spans(integer[], text[], text[], integer) is
'Locks the spans of the next batch_size claimable jobs, over all lanes that match by priority and position.
lone_los are spans of one without a key, which may have neighbours; los are the others. What the batch does not
need of the last span was put back as a span of its own; its new hi stands in resized_his. All are of the days
from first_day to last_day.';
