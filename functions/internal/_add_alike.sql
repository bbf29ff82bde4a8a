create or replace function pgbaton._add_alike(
    queue pgbaton.queue, lane_id integer, run_at timestamptz, payloads jsonb[]
)
returns bigint[]
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_day constant date := pgbaton._day(v_now);
    v_ids bigint[];
begin
    perform pg_current_xact_id();  -- before a position is drawn: see _note_horizon
    if exists (select from pgbaton.sleeper) then
        perform pgbaton._wake(array[lane_id]);
    end if;
    v_ids := array(select nextval('pgbaton.job_id_seq') from generate_series(1, cardinality(payloads)));
    insert into pgbaton.job (id, created_at, day, lane_id, payload)
    select unnest(v_ids), v_now, v_day, _add_alike.lane_id, unnest(payloads);
    -- Consecutive ids share a span, cut where an id is a multiple of 64.
    insert into pgbaton.span (lo, hi, position, run_at, day, queue_id, lane_id, state, ready)
    select
        r.lo, r.hi, nextval('pgbaton.position_seq'), _add_alike.run_at, v_day, queue.id, _add_alike.lane_id,
        'pending', _add_alike.run_at is null or _add_alike.run_at <= v_now
    from (
        select
            v_ids[f.ordinal] as lo,
            v_ids[coalesce(lead(f.ordinal) over (order by f.ordinal) - 1, cardinality(v_ids))] as hi
        from generate_subscripts(v_ids, 1) as f (ordinal)
        where f.ordinal = 1
            or v_ids[f.ordinal] > v_ids[f.ordinal - 1] + 1
            or v_ids[f.ordinal] & 63 = 1
    ) as r;
    return v_ids;
end;
$$;
comment on function pgbaton._add_alike(pgbaton.queue, integer, timestamptz, jsonb[]) is
'Adds jobs of one lane without keys or options and returns their ids in input order: _add_unkeyed for what most
batches are.';
