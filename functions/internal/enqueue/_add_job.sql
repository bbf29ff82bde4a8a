create or replace function pgbaton._add_job(
    job_id bigint, queue pgbaton.queue, lane_id integer, run_at timestamptz, payload jsonb,
    singleton_key text, options pgbaton.job_options
)
returns void
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_is_due constant boolean := run_at is null or run_at <= v_now;
    v_is_plain constant boolean := queue.policy in ('standard', 'short', 'exclusive');
    -- Only a FIFO job holds its key while it waits for its time.
    v_is_in_line constant boolean := queue.policy = 'fifo' or (not v_is_plain and v_is_due);
    v_key constant text := case when queue.policy = 'standard' then singleton_key else coalesce(singleton_key, '') end;
    v_sleepers_from constant bigint := pgbaton._sleepers_from();
    v_is_head boolean := v_is_plain;
    v_position bigint;
    v_span pgbaton.span;
begin
    -- The insert takes the transaction id before a position is drawn: see _note_horizon.
    insert into pgbaton.job (id, created_at, day, lane_id, singleton_key, options, payload)
    values (job_id, v_now, pgbaton._day(v_now), lane_id, singleton_key, options, payload);
    if v_is_in_line then
        v_is_head := pgbaton._lock_key(queue.id, v_key);
    end if;
    v_position := nextval('pgbaton.position_seq');
    v_span := row(
        job_id, job_id, v_position, case when not v_is_plain then v_position end, null, null, null, null, run_at, null,
        pgbaton._day(v_now), queue.id, lane_id,
        case when v_is_head or not v_is_in_line then 'pending'::pgbaton.job_state else 'waiting' end,
        0, null, null, v_is_head and v_is_due, v_key,
        case when v_is_in_line and v_is_head then v_key end, null,
        case when queue.policy not in ('standard', 'fifo') then queue.policy end
    );
    v_span.slot := pgbaton._slot(v_span.policy, v_span.state, null, 0, v_span.held_key, job_id);
    -- _queued_job found the key free; only an older snapshot can have missed a job of it.
    if cardinality(pgbaton._put(array[v_span], queue.policy in ('short', 'stately', 'exclusive'))) > 0 then
        raise exception using
            errcode = 'serialization_failure',
            message = format('key "%s" of queue "%s" was taken meanwhile', v_key, queue.name),
            hint = 'Run the transaction again.';
    end if;
    if (v_is_head or not v_is_in_line)
        and exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from)
    then
        perform pgbaton._wake(array[lane_id], case when not v_is_due then run_at end);
    end if;
end;
$$;
comment on function pgbaton._add_job(
    bigint, pgbaton.queue, integer, timestamptz, jsonb, text, pgbaton.job_options
) is
'Adds one job whose arguments were checked and whose key _queued_job found free. Where keys have a baton (fifo,
singleton, stately) it gets the one of its key when nobody has it, else it waits. Raises 40001.';
