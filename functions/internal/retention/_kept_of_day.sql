create or replace function pgbaton._kept_of_day(day date, at timestamptz)
returns bigint[]
language plpgsql volatile
as $$
declare
    v_first_id constant bigint := (select min(j.id) from pgbaton.job as j where j.day = _kept_of_day.day);
    v_last_id constant bigint := (select max(j.id) from pgbaton.job as j where j.day = _kept_of_day.day);
begin
    return array(
        select g.id
        from (
            select s.lo, s.hi from pgbaton.span as s
            where s.day = _kept_of_day.day and s.lo >= v_first_id
                and pgbaton._overlaps(s.lo, s.hi, v_first_id, v_last_id)
            union all
            select h.lo, h.hi
            from (
                -- What ended last comes first, so that a day of which much is kept is not read as a whole.
                select n.* from pgbaton.job_history as n
                where n.day = _kept_of_day.day and n.finished_at > (
                    select pgbaton._after(at, -q.retention) from pgbaton.queue as q where q.id = n.queue_id
                )
                order by n.lo desc
                limit 10001
            ) as h
            union all
            -- What a job that lives waits for, or has waited for: it reads their results.
            select e.parent_id, e.parent_id from pgbaton.job_edge as e
            where e.parent_id >= v_first_id and e.parent_id <= v_last_id and exists (
                select from pgbaton.span as s
                where pgbaton._covers(s.lo, s.hi, e.child_id)
                offset 0
            )
            union all
            select unnest(c.los), unnest(c.his) from pgbaton.spark_chunk as c where c.day = _kept_of_day.day
        ) as k
        cross join lateral generate_series(k.lo, k.hi) as g (id)
        limit 10001
    );
end;
$$;
comment on function pgbaton._kept_of_day(date, timestamptz) is
'The jobs of a day that are live or staged, that a live job waits or waited for, or that ended within the retention of
their queue; at most 10001 of them.';
