create or replace function pgbaton._carve_history(job_ids bigint[])
returns void
language plpgsql volatile
as $$
declare
    v_los bigint[];
    v_first_day date;
    v_last_day date;
begin
    select array_agg(f.lo), min(f.day), max(f.day) into v_los, v_first_day, v_last_day
    from unnest(job_ids) as i (id)
    cross join lateral (
        select n.lo, n.day from pgbaton.job_history as n
        where pgbaton._covers(n.lo, n.hi, i.id)
        order by n.lo
        offset 0
    ) as f;
    with whole as (
        delete from pgbaton.job_history as h
        where h.lo = any (v_los) and h.day >= v_first_day and h.day <= v_last_day
        returning h.*, coalesce(h.first_xid, pgbaton._xmin_of(h.xmin)) as xid
    ), kept as (
        -- What stays: runs of the ids that were not named.
        select w.*, g.id, g.id - row_number() over (partition by w.lo order by g.id) as run
        from whole as w
        cross join lateral generate_series(w.lo, w.hi) as g (id)
        where g.id not in (select i.id from unnest(job_ids) as i (id))
    )
    insert into pgbaton.job_history
    select
        min(k.id), max(k.id), k.claimed_at, k.started_at, k.finished_at, k.run_at, k.lease_token, k.day, k.queue_id,
        k.lane_id, k.state, k.attempt, k.extra_attempts, k.worker_id, k.resolution, k.xid
    from kept as k
    group by
        k.lo, k.run, k.claimed_at, k.started_at, k.finished_at, k.run_at, k.lease_token, k.day, k.queue_id,
        k.lane_id, k.state, k.attempt, k.extra_attempts, k.worker_id, k.resolution, k.xid;
end;
$$;
comment on function pgbaton._carve_history(bigint[]) is
'Takes jobs out of the spans of history; the rest of each span stays, as of the transaction that ended it.';
