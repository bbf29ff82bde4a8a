create or replace function pgbaton._kept_of_day(day date, at timestamptz)
returns bigint[]
language plpgsql volatile
as $$
begin
    return array(
        select g.id
        from (
            select s.lo, s.hi from pgbaton.span as s where s.day = _kept_of_day.day
            union all
            select h.lo, h.hi
            from pgbaton.job_history as h
            cross join lateral (select n.retention from pgbaton.queue as n where n.id = h.queue_id offset 0) as q
            where h.day = _kept_of_day.day and h.finished_at > pgbaton._after(at, -q.retention)
            union all
            select unnest(c.los), unnest(c.his) from pgbaton.spark_chunk as c where c.day = _kept_of_day.day
        ) as k
        cross join lateral generate_series(k.lo, k.hi) as g (id)
        limit 10001
    );
end;
$$;
comment on function pgbaton._kept_of_day(date, timestamptz) is
'The jobs of a day that are live or staged, or ended within the retention of their queue; at most 10001 of them.';
