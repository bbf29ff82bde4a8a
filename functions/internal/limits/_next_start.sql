create or replace function pgbaton._next_start(queue_id integer, at timestamptz)
returns timestamptz
language plpgsql stable
as $$
begin
    return (
        select max(f.free_at)
        from pgbaton.queue_limit as l
        cross join lateral (
            select min(case when h.used < h.units then at else h.free_at end) as free_at
            from pgbaton._permits(l, at) as h
        ) as f
        where l.queue_id = _next_start.queue_id and l.kind in ('rate', 'burst') and f.free_at > at
    );
end;
$$;
comment on function pgbaton._next_start(integer, timestamptz) is
'When the rate of a queue lets its next job start, if that is later than the time given; else null.';
