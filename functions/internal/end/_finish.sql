create or replace function pgbaton._finish(
    spans pgbaton.span[], state pgbaton.job_state, resolution text default null, wakes boolean default true
)
returns void
language plpgsql volatile
as $$
declare
    v_hold_keys boolean := spans[1].held_key is not null;
begin
    if state = 'unknown_stopped' then
        -- Job by job and with the token: each may still be completed by the worker that had it.
        insert into pgbaton.job_history (
            lo, hi, claimed_at, started_at, finished_at, run_at, lease_token, day, queue_id, lane_id, state, attempt,
            extra_attempts, worker_id, resolution
        )
        select
            g.id, g.id, s.claimed_at, s.started_at, pgbaton._now(), nullif(s.run_at, 'infinity'), s.lease_token, s.day,
            s.queue_id, s.lane_id, _finish.state, s.attempt, s.extra_attempts, s.worker_id, _finish.resolution
        from unnest(spans) as s
        cross join lateral generate_series(s.lo, s.hi) as g (id);
    else
        insert into pgbaton.job_history (
            lo, hi, claimed_at, started_at, finished_at, run_at, day, queue_id, lane_id, state, attempt,
            extra_attempts, worker_id, resolution
        )
        select
            s.lo, s.hi, s.claimed_at, s.started_at, pgbaton._now(), nullif(s.run_at, 'infinity'), s.day, s.queue_id,
            s.lane_id, _finish.state, s.attempt, s.extra_attempts, s.worker_id, _finish.resolution
        from unnest(spans) as s;
    end if;
    if not v_hold_keys and cardinality(spans) > 1 then
        v_hold_keys := exists (select from unnest(spans) as s where s.held_key is not null);
    end if;
    if v_hold_keys then
        perform pgbaton._pass_batons_of(spans);
    end if;
    if pg_sequence_last_value('pgbaton.edge_seq') is not null then  -- there are edges, or limits
        perform pgbaton._free_places(spans, wakes);
        perform pgbaton._tell_children(spans, state = 'completed');
    end if;
end;
$$;
comment on function pgbaton._finish(pgbaton.span[], pgbaton.job_state, text, boolean) is
'Writes spans that were carved out into history and passes the batons they held. wakes: as _free_places has it.';
