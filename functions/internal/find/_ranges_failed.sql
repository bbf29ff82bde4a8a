create or replace function pgbaton._ranges_failed(
    queue_ids integer[], start_at timestamptz, start_lo bigint, most integer, oldest_first boolean
)
returns setof pgbaton.job_range
language plpgsql stable
as $$
begin
    if oldest_first then
        return query
        select f.*
        from pgbaton.queue as q
        cross join lateral (
            select s.lo, s.hi, s.day, s.queue_id, s.lane_id, s.state, true, s.worker_id, s.changed_at
            from only pgbaton.span as s
            where s.state = 'failed' and not s.ready and s.run_at is null and s.queue_id = q.id
                and (s.changed_at, s.lo) > (start_at, start_lo)
            order by s.run_at, s.queue_id, s.changed_at, s.lo
            limit most
        ) as f
        where queue_ids is null or q.id = any (queue_ids)
        order by f.changed_at, f.lo
        limit most;
    else
        return query
        select f.*
        from pgbaton.queue as q
        cross join lateral (
            select s.lo, s.hi, s.day, s.queue_id, s.lane_id, s.state, true, s.worker_id, s.changed_at
            from only pgbaton.span as s
            where s.state = 'failed' and not s.ready and s.run_at is null and s.queue_id = q.id
                and (s.changed_at, s.lo) < (start_at, start_lo)
            order by s.run_at desc, s.queue_id desc, s.changed_at desc, s.lo desc
            limit most
        ) as f
        where queue_ids is null or q.id = any (queue_ids)
        order by f.changed_at desc, f.lo desc
        limit most;
    end if;
end;
$$;
comment on function pgbaton._ranges_failed(integer[], timestamptz, bigint, integer, boolean) is
'The next so many dead letters after one in the order in which they failed, or before it. Reads as many of each queue.';
