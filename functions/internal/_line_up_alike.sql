create or replace function pgbaton._line_up_alike(
    queue pgbaton.queue, lane_id integer, run_at timestamptz, job_ids bigint[], day date
)
returns void
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
begin
    perform pg_current_xact_id();  -- before a position is drawn: see _note_horizon
    if exists (select from pgbaton.sleeper) then
        perform pgbaton._wake(array[lane_id]);
    end if;
    -- Consecutive ids share a span, cut where an id is a multiple of 64.
    insert into pgbaton.span (lo, hi, position, run_at, day, queue_id, lane_id, state, ready)
    select
        r.lo, r.hi, nextval('pgbaton.position_seq'), _line_up_alike.run_at, _line_up_alike.day, queue.id,
        _line_up_alike.lane_id, 'pending', _line_up_alike.run_at is null or _line_up_alike.run_at <= v_now
    from (
        select
            job_ids[f.ordinal] as lo,
            job_ids[coalesce(lead(f.ordinal) over (order by f.ordinal) - 1, cardinality(job_ids))] as hi
        from generate_subscripts(job_ids, 1) as f (ordinal)
        where f.ordinal = 1
            or job_ids[f.ordinal] > job_ids[f.ordinal - 1] + 1
            or job_ids[f.ordinal] & 63 = 1
    ) as r;
end;
$$;
comment on function pgbaton._line_up_alike(pgbaton.queue, integer, timestamptz, bigint[], date) is
'Gives stored jobs of one lane and day, without keys, their places in line, and wakes who waits for them.';
