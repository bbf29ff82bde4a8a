create or replace function pgbaton._add_job(
    job_id bigint, queue pgbaton.queue, lane_id integer, run_at timestamptz, payload jsonb,
    singleton_key text, options pgbaton.job_options
)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_is_keyed constant boolean := queue.policy = 'fifo';
    v_is_head boolean := true;
    v_position bigint;
begin
    -- The insert takes the transaction id before a position is drawn: see _note_horizon.
    insert into pgbaton.job (id, created_at, day, lane_id, singleton_key, options, payload)
    values (job_id, v_now, pgbaton._day(v_now), lane_id, singleton_key, options, payload);
    if v_is_keyed then
        v_is_head := pgbaton._lock_key(queue.id, singleton_key);
    end if;
    v_position := nextval('pgbaton.position_seq');
    insert into pgbaton.span (
        lo, hi, position, key_position, run_at, day, queue_id, lane_id, state, ready, singleton_key, held_key
    )
    values (
        job_id, job_id, v_position, case when v_is_keyed then v_position end, run_at, pgbaton._day(v_now),
        queue.id, lane_id, case when v_is_head then 'pending'::pgbaton.job_state else 'waiting' end,
        v_is_head and (run_at is null or run_at <= v_now),
        singleton_key, case when v_is_keyed and v_is_head then singleton_key end
    );
end;
$$;
comment on function pgbaton._add_job(
    bigint, pgbaton.queue, integer, timestamptz, jsonb, text, pgbaton.job_options
) is
'Adds one job whose arguments were checked. In a FIFO queue it gets the baton when its key is idle, else it
waits.';
