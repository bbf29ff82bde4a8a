create or replace function pgbaton._line_up_plain(
    queue pgbaton.queue,
    lane_id integer,
    run_at timestamptz,
    los bigint[],
    his bigint[],
    day date,
    singleton_keys text[] default null,
    lane_ids integer[] default null,
    run_ats timestamptz[] default null
)
returns void
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_sleepers_from constant bigint := pgbaton._sleepers_from();
    v_is_due constant boolean := coalesce(run_at <= v_now, true);
begin
    perform pg_current_xact_id();  -- before a position is drawn: see _note_horizon
    if v_is_due or run_ats is not null then
        insert into pgbaton.ready_span (lo, hi, position, run_at, day, queue_id, lane_id, state, ready, singleton_key)
        select
            s.lo, s.hi, nextval('pgbaton.position_seq') + (s.hi - s.lo), coalesce(s.run_at, _line_up_plain.run_at),
            _line_up_plain.day, queue.id, coalesce(s.lane_id, _line_up_plain.lane_id), 'pending', true, s.singleton_key
        from (
            select
                unnest(los) as lo, unnest(his) as hi, unnest(singleton_keys) as singleton_key,
                unnest(lane_ids) as lane_id, unnest(run_ats) as run_at
        ) as s
        where coalesce(s.run_at <= v_now, v_is_due);
    end if;
    if not v_is_due or run_ats is not null then
        insert into pgbaton.span (lo, hi, position, run_at, day, queue_id, lane_id, state, ready, singleton_key)
        select
            s.lo, s.hi, nextval('pgbaton.position_seq') + (s.hi - s.lo), coalesce(s.run_at, _line_up_plain.run_at),
            _line_up_plain.day, queue.id, coalesce(s.lane_id, _line_up_plain.lane_id), 'pending', false, s.singleton_key
        from (
            select
                unnest(los) as lo, unnest(his) as hi, unnest(singleton_keys) as singleton_key,
                unnest(lane_ids) as lane_id, unnest(run_ats) as run_at
        ) as s
        where not coalesce(s.run_at <= v_now, v_is_due);
    end if;
    if exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from) then
        perform pgbaton._wake(
            coalesce(lane_ids, '{}') || lane_id, case when run_ats is null and not v_is_due then run_at end
        );
    end if;
end;
$$;
comment on function pgbaton._line_up_plain(
    pgbaton.queue, integer, timestamptz, bigint[], bigint[], date, text[], integer[], timestamptz[]
) is
'Gives stored jobs of one day, of a standard queue, their places in line, and wakes who waits for them. Their spans are
as of _cut_into_spans.';
