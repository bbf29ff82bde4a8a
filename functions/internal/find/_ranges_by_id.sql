create or replace function pgbaton._ranges_by_id(
    start bigint, most integer, oldest_first boolean, with_live boolean, with_ended boolean, first_day date,
    last_day date
)
returns setof pgbaton.job_range
language plpgsql stable
as $$
begin
    if oldest_first then
        return query
        select r.* from (
            (
                select greatest(s.lo, start + 1) as lo, s.hi, s.day, s.queue_id, s.lane_id, s.state, true, s.worker_id,
                    s.changed_at
                from only pgbaton.span as s
                where with_live and s.lo > start - 64 and s.hi > start
                order by s.lo
                limit most
            )
            union all
            (
                select greatest(s.lo, start + 1) as lo, s.hi, s.day, s.queue_id, s.lane_id, s.state, true, s.worker_id,
                    s.changed_at
                from pgbaton.leased_span as s
                where with_live and s.lo > start - 64 and s.hi > start
                order by s.lo
                limit most
            )
            union all
            (
                select greatest(s.lo, start + 1) as lo, s.hi, s.day, s.queue_id, s.lane_id, s.state, true, s.worker_id,
                    s.changed_at
                from pgbaton.ready_span as s
                where with_live and s.lo > start - 64 and s.hi > start
                order by s.hi
                limit most
            )
            union all
            (
                select greatest(h.lo, start + 1), h.hi, h.day, h.queue_id, h.lane_id, h.state, false, h.worker_id,
                    h.finished_at
                from pgbaton.job_history as h
                where with_ended and h.lo > start - 64 and h.hi > start and h.day between first_day and last_day
                order by h.lo
                limit most
            )
        ) as r
        order by r.lo
        limit most;
    else
        return query
        select r.* from (
            (
                select s.lo, least(s.hi, start - 1) as hi, s.day, s.queue_id, s.lane_id, s.state, true, s.worker_id,
                    s.changed_at
                from only pgbaton.span as s
                where with_live and s.lo < start
                order by s.lo desc
                limit most
            )
            union all
            (
                select s.lo, least(s.hi, start - 1) as hi, s.day, s.queue_id, s.lane_id, s.state, true, s.worker_id,
                    s.changed_at
                from pgbaton.leased_span as s
                where with_live and s.lo < start
                order by s.lo desc
                limit most
            )
            union all
            (
                select s.lo, least(s.hi, start - 1) as hi, s.day, s.queue_id, s.lane_id, s.state, true, s.worker_id,
                    s.changed_at
                from pgbaton.ready_span as s
                -- By its end, which is indexed: the last span that begins before start ends at most 63 later.
                where with_live and s.lo < start and s.hi < least(start, 9223372036854775744) + 63
                order by s.hi desc
                limit most
            )
            union all
            (
                select h.lo, least(h.hi, start - 1), h.day, h.queue_id, h.lane_id, h.state, false, h.worker_id,
                    h.finished_at
                from pgbaton.job_history as h
                where with_ended and h.lo < start and h.day between first_day and last_day
                order by h.lo desc
                limit most
            )
        ) as r
        order by r.lo desc
        limit most;
    end if;
end;
$$;
comment on function pgbaton._ranges_by_id(bigint, integer, boolean, boolean, boolean, date, date) is
'The next so many ranges of jobs in the order of ids: from the first that has an id above start on, or from the last
that has one below it on back. The days narrow those that ended. Of a range that start lies in, what is beyond it.';
