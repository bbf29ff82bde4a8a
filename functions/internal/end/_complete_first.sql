create or replace function pgbaton._complete_first(job_id bigint, lease_token bigint, wakes boolean default true)
returns boolean
language plpgsql volatile
as $$
declare
    v_span pgbaton.span;
begin
    -- Before anything is locked: a narrowed caller must not hold up jobs of other queues.
    if pgbaton._has_grants() then
        return false;
    end if;
    -- By its id alone: with an index on the token, all spans of the claim would be read.
    delete from pgbaton.leased_span as s
    where s.lo = job_id and s.hi = job_id and s.lease_token is not distinct from _complete_first.lease_token
    returning s.* into v_span;
    if not found then
        update pgbaton.leased_span as s set lo = s.lo + 1
        where s.lo = job_id and s.hi > job_id and s.lease_token is not distinct from _complete_first.lease_token
        returning s.* into v_span;
    end if;
    if not found then
        delete from only pgbaton.span as s
        where s.lo = job_id and s.hi = job_id and s.lease_token is not distinct from _complete_first.lease_token
            and s.state in ('active', 'cancelling')
        returning s.* into v_span;
    end if;
    if not found then
        return false;
    end if;
    v_span.lo := job_id;
    v_span.hi := job_id;
    insert into pgbaton.job_history (
        lo, hi, claimed_at, started_at, finished_at, run_at, day, queue_id, lane_id, state, attempt, extra_attempts,
        worker_id
    )
    values (
        v_span.lo, v_span.lo, v_span.claimed_at, v_span.started_at, pgbaton._now(), v_span.run_at, v_span.day,
        v_span.queue_id, v_span.lane_id, 'completed', v_span.attempt, v_span.extra_attempts, v_span.worker_id
    );
    if v_span.held_key is not null then
        perform pgbaton._pass_batons_of(array[v_span]);
    end if;
    if pg_sequence_last_value('pgbaton.edge_seq') is not null then  -- there are edges, or limits
        if exists (select from pgbaton.queue as q where q.id = v_span.queue_id and q.is_limited) then
            -- As _free_places, for one.
            if v_span.slot < -100 then
                perform pgbaton._release_places(array[v_span]);
            end if;
            if wakes then
                perform pgbaton._wake_limited(array[v_span.queue_id], 1);
            end if;
        end if;
        -- Nearly always nobody does: then this is all.
        if not pgbaton._is_read_committed()
            or exists (select from pgbaton.job_wait as w where w.parent_id = v_span.lo)
        then
            perform pgbaton._tell_children(array[v_span], true);
        end if;
    end if;
    return true;
end;
$$;
comment on function pgbaton._complete_first(bigint, bigint, boolean) is
'The short way of complete_job for the first job of a span under this token, as it is when a worker
acknowledges one job after the other: what _carve and _finish do, in three statements. Starting a statement
costs more than what it does for one job. False when it is another job, or is locked. wakes: as _free_places has it.';
