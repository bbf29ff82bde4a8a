create or replace function pgbaton._line_up_alike(
    queue pgbaton.queue, lane_id integer, run_at timestamptz, los bigint[], his bigint[], day date
)
returns void
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_sleepers_from constant bigint := pgbaton._sleepers_from();
begin
    perform pg_current_xact_id();  -- before a position is drawn: see _note_horizon
    insert into pgbaton.span (lo, hi, position, run_at, day, queue_id, lane_id, state, ready)
    select
        s.lo, s.hi, nextval('pgbaton.position_seq'), _line_up_alike.run_at, _line_up_alike.day, queue.id,
        _line_up_alike.lane_id, 'pending', _line_up_alike.run_at is null or _line_up_alike.run_at <= v_now
    from (select unnest(los) as lo, unnest(his) as hi) as s;
    if exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from) then
        perform pgbaton._wake(array[lane_id], case when run_at > v_now then run_at end);
    end if;
end;
$$;
comment on function pgbaton._line_up_alike(pgbaton.queue, integer, timestamptz, bigint[], bigint[], date) is
'Gives stored jobs of one lane and day, without keys, their places in line, and wakes who waits for them. Their spans
are as of _cut_into_spans.';
