create or replace function pgbaton._carve_history_around(job_ids bigint[], day date)
returns void
language plpgsql volatile
as $$
begin
    -- As spans of one, so that each is found by its id when it is copied.
    with kept as (
        delete from pgbaton.job_history as h
        where h.day = _carve_history_around.day
            and exists (select from unnest(job_ids) as i (id) where i.id between h.lo and h.hi)
        returning h.*, coalesce(h.first_xid, pgbaton._xmin_of(h.xmin)) as xid
    )
    insert into pgbaton.job_history
    select
        g.id, g.id, k.claimed_at, k.started_at, k.finished_at, k.run_at, k.lease_token, k.day, k.queue_id, k.lane_id,
        k.state, k.attempt, k.extra_attempts, k.worker_id, k.resolution, k.xid
    from kept as k
    cross join lateral generate_series(k.lo, k.hi) as g (id);
end;
$$;
comment on function pgbaton._carve_history_around(bigint[], date) is
'Makes the history of these jobs rows of one job each, which know what transaction wrote them.';
