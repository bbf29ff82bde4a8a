create or replace function pgbaton.retry_job(queue text, job_id bigint, extra_attempts integer default 1)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_sleepers_from constant bigint := pgbaton._sleepers_from();
    v_span pgbaton.span;
begin
    if extra_attempts is null or extra_attempts not between 0 and 1000000 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('extra_attempts is %s', coalesce(extra_attempts::text, 'null')),
            hint = 'Pass how many attempts to grant beyond the limit, 1 as a rule.';
    end if;
    v_span := pgbaton._take_one(queue, job_id, array['failed']::pgbaton.job_state[], 'retry_job');
    if v_span.policy in ('stately', 'exclusive') then
        perform pgbaton._require_retry_place(v_span);
    end if;
    v_span.state := 'retry';
    v_span.extra_attempts := nullif(least(coalesce(v_span.extra_attempts, 0) + extra_attempts, 1000000000), 0);
    v_span.run_at := pgbaton._now();
    v_span.changed_at := v_span.run_at;
    -- A failed job without the baton: its key went on without it. Under the producers' lock, as if it were enqueued
    -- now: else a worker that finds nobody waiting and a claim that finds the key held could both leave it behind.
    if v_span.key_position is not null and v_span.held_key is null
        and pgbaton._lock_key(v_span.queue_id, v_span.singleton_key)
    then
        v_span.held_key := v_span.singleton_key;
    end if;
    if v_span.key_position is null or v_span.held_key is not null then
        v_span.ready := true;
        v_span.position := nextval('pgbaton.position_seq');
    else
        -- In a FIFO queue at its old place, which is the next; elsewhere at the end of the line, as any retry.
        v_span.state := 'waiting';
        if v_span.policy is not null then
            v_span.key_position := nextval('pgbaton.position_seq');
        end if;
    end if;
    v_span.slot := pgbaton._slot(
        v_span.policy, v_span.state, v_span.claimed_at, v_span.attempt, v_span.held_key, v_span.lo
    );
    if cardinality(pgbaton._put(array[v_span], may_be_refused => true)) > 0 then
        raise exception using
            errcode = 'PB006',
            message = format('another job of the key of job %s has come to stand where it would be retried', job_id),
            hint = 'Let that job end first.';
    end if;
    if v_span.ready and exists (select from pgbaton.sleeper as s where s.id >= v_sleepers_from) then
        perform pgbaton._wake(array[v_span.lane_id]);
    end if;
    perform pgbaton._audit('retry_job', queue, job_id, v_span.singleton_key, null);
end;
$$;
comment on function pgbaton.retry_job(text, bigint, integer) is
'Runs a failed job again: with the same id, at the same place in its key, and with extra_attempts more attempts. If it
holds its key, the key stays blocked until it has ended. A key that went on without it runs it next; with the policies
singleton and stately it goes to the end of its line. Waits for open producers of such a key.
Raises PB001, PB002 (no such job in the queue), PB003 (not failed), PB006 (the policy leaves no place for it), 22004 or
22023.';
