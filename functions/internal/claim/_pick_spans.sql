create or replace function pgbaton._pick_spans(
    queue_ids integer[], job_types text[], tags text[], batch_size integer,
    out los bigint[], out lone_los bigint[], out lone_lane_ids integer[],
    out resized_los bigint[], out resized_his bigint[], out first_day date, out last_day date, out jobs bigint,
    out has_twins boolean
)
language plpgsql volatile
as $$
declare
    v_ready cursor (a_lane_id integer, a_from bigint, a_to bigint) for
        select
            s.lo, s.hi, s.day, s.held_key,
            s.hi = s.lo and s.attempt = 0 and s.extra_attempts is null
            and num_nonnulls(s.singleton_key, s.run_at, s.started_at) = 0 as is_lone
        from pgbaton.span as s
        where s.lane_id = a_lane_id and s.ready and s.position between a_from and a_to
        order by s.lane_id, s.position
        for update skip locked;
    v_last constant bigint := 9223372036854775807;
    v_lanes record;  -- candidates as parallel arrays
    v_lane integer;  -- the one to serve
    v_lane_id integer;
    v_until bigint;  -- the position up to which it comes first
    v_lo bigint;
    v_hi bigint;
    v_day date;
    v_key text;
    v_keys text[] := '{}';
    v_is_lone boolean;
    v_missing bigint := batch_size;
begin
    los := '{}';
    lone_los := '{}';
    lone_lane_ids := '{}';
    v_lanes := pgbaton._lane_heads(queue_ids, job_types, tags, batch_size);

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
            v_until := v_last;
            exit when v_lanes.heads[v_lane] is null;
        end if;

        v_lane_id := v_lanes.lane_ids[v_lane];
        open v_ready(v_lane_id, v_lanes.heads[v_lane], v_until);
        loop
            -- One by one: locking more spans than are needed would starve the other workers.
            fetch v_ready into v_lo, v_hi, v_day, v_key, v_is_lone;
            exit when not found;
            if v_is_lone then
                lone_los := lone_los || v_lo;
                lone_lane_ids := lone_lane_ids || v_lane_id;
            else
                los := los || v_lo;
                if v_key is not null then
                    v_keys := v_keys || v_key;
                end if;
            end if;
            first_day := least(first_day, v_day);
            last_day := greatest(last_day, v_day);
            v_missing := v_missing - (v_hi - v_lo + 1);
            exit when v_missing <= 0;
        end loop;
        close v_ready;

        if v_missing < 0 then  -- the last span has more: _put_back without its call
            resized_los := array[v_lo];
            resized_his := array[v_hi + v_missing];
            insert into pgbaton.span (
                lo, hi, position, key_position, lease_token, lease_until, claimed_at, started_at, run_at, changed_at,
                day, queue_id, lane_id, state, attempt, extra_attempts, slot, ready, singleton_key, held_key, worker_id,
                policy
            )
            select
                v_hi + v_missing + 1, s.hi, s.position + (v_hi + v_missing + 1 - s.lo), s.key_position, s.lease_token,
                s.lease_until, s.claimed_at, s.started_at, s.run_at, s.changed_at, s.day, s.queue_id, s.lane_id,
                s.state, s.attempt, s.extra_attempts, s.slot, s.ready, s.singleton_key, s.held_key, s.worker_id, s.policy
            from pgbaton.span as s where s.lo = v_lo;
        end if;
        if v_lanes.steps[v_lane] is not null then
            perform pgbaton._advance(v_lane_id, v_lanes.starts[v_lane], v_lanes.steps[v_lane] / 2);
            v_lanes.steps[v_lane] := null;
        end if;
        exit when v_missing <= 0;
        v_lanes.heads[v_lane] := case
            when v_until < v_last then (
                select s.position from pgbaton.span as s
                where s.lane_id = v_lane_id and s.ready and s.position > v_until
                order by s.lane_id, s.position
                limit 1
            )
        end;
    end loop;
    jobs := batch_size - greatest(v_missing, 0);
    has_twins := cardinality(v_keys) > 1
        and cardinality(v_keys) > (select count(distinct k.key) from unnest(v_keys) as k (key));
end;
$$;
comment on function pgbaton._pick_spans(integer[], text[], text[], integer) is
'Locks the spans of the next batch_size claimable jobs, over all lanes that match by priority and position.
lone_los are spans of one without a key that nobody had yet, which may have neighbours in their lane, and the others
are los. What the batch does not need of the last span was put back as a span of its own; its new hi stands in
resized_his. All are of the days from first_day to last_day, and are so many jobs.
has_twins: two of them hold keys of one name.';
