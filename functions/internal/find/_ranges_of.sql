create or replace function pgbaton._ranges_of(job_ids bigint[], start bigint, most integer, oldest_first boolean)
returns setof pgbaton.job_range
language plpgsql stable
as $$
begin
    return query
    select i.id, i.id, r.day, r.queue_id, r.lane_id, r.state, r.is_live, r.worker_id, r.at
    from (
        select distinct n.id from unnest(job_ids) as n (id)
        where case when oldest_first then n.id > start else n.id < start end
    ) as i
    cross join lateral (
        select s.day, s.queue_id, s.lane_id, s.state, true as is_live, s.worker_id, s.changed_at as at
        from pgbaton.span as s
        where pgbaton._covers(s.lo, s.hi, i.id)
        union all
        select h.day, h.queue_id, h.lane_id, h.state, false, h.worker_id, h.finished_at
        from pgbaton.job_history as h
        where pgbaton._covers(h.lo, h.hi, i.id)
        offset 0
    ) as r
    order by case when oldest_first then i.id end, i.id desc
    limit most;
end;
$$;
comment on function pgbaton._ranges_of(bigint[], bigint, integer, boolean) is
'As _ranges_by_id, of these jobs, each as a range of its own.';
