create or replace function pgbaton._add_plain_job(
    queue text, payload jsonb, priority integer, job_type text, tags text[]
)
returns bigint
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_sleepers_from constant bigint := pgbaton._sleepers_from();
    v_labels record;
    v_has_sleepers boolean;
    v_job_id bigint;
begin
    -- The lock as in _enter_queue, here since a statement of its own costs more than all of this.
    if pg_advisory_xact_lock_shared(pgbaton._lock_class() + 1, hashtext(queue) & 255) is null
        or not pgbaton._is_read_committed() or pgbaton._has_grants()
    then
        return null;
    end if;
    select q.id as queue_id, l.id as lane_id into v_labels
    from pgbaton.queue as q
    inner join pgbaton.lane as l on l.queue_id = q.id
    where q.name = _add_plain_job.queue and q.policy = 'standard' and l.priority = _add_plain_job.priority
        and l.job_type = _add_plain_job.job_type and l.tags = _add_plain_job.tags
    limit 1;  -- the first of its labels: they come by lane_labels_idx
    if not found then
        return null;
    end if;
    -- The job comes first, and with it the transaction id, then the position: see _note_horizon.
    insert into pgbaton.job (id, created_at, day, lane_id, payload)
    values (nextval('pgbaton.job_id_seq'), v_now, pgbaton._day(v_now), v_labels.lane_id, payload)
    returning id into v_job_id;
    insert into pgbaton.ready_span (lo, hi, position, day, queue_id, lane_id, state, ready)
    values (
        v_job_id, v_job_id, nextval('pgbaton.position_seq'), pgbaton._day(v_now), v_labels.queue_id, v_labels.lane_id,
        'pending', true
    )
    -- In the statement that writes: see _is_seen_by_all.
    returning exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from) into v_has_sleepers;
    if v_has_sleepers then
        perform pgbaton._wake(array[v_labels.lane_id]);
    end if;
    return v_job_id;
end;
$$;
comment on function pgbaton._add_plain_job(text, jsonb, integer, text, text[]) is
'The short way of enqueue_job for the plainest job: one of a standard queue and a lane that is there, under READ
COMMITTED, while no grant narrows anybody. Few statements: starting one costs more than what it does for one
job. Null when it is not that plain.';
