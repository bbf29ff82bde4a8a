create or replace function pgbaton._ranges_leased(start bigint, most integer, oldest_first boolean)
returns setof pgbaton.job_range
language plpgsql stable
as $$
begin
    return query
    select
        case when oldest_first then greatest(s.lo, start + 1) else s.lo end,
        case when oldest_first then s.hi else least(s.hi, start - 1) end,
        s.day, s.queue_id, s.lane_id, s.state, true, s.worker_id, s.changed_at
    from pgbaton.held_span as s
    where case when oldest_first then s.hi > start else s.lo < start end
    order by case when oldest_first then s.lo end, s.lo desc
    limit most;
end;
$$;
comment on function pgbaton._ranges_leased(bigint, integer, boolean) is
'As _ranges_by_id, of jobs that are with a worker. Reads all of these.';
