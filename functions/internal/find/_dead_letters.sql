create or replace function pgbaton._dead_letters(spans pgbaton.span[])
returns setof pgbaton.dead_job
language plpgsql stable
as $$
begin
    return query
    select
        s.lo, q.name, l.job_type, l.tags, j.singleton_key, j.payload, s.attempt, r.last_error, j.created_at,
        s.changed_at, s.held_key is not null
    from unnest(spans) as s
    -- Each by its key, whatever the statistics say: a join by day alone pairs all of a day with one another.
    cross join lateral (
        select n.job_type, n.tags from pgbaton.lane as n where n.id = s.lane_id offset 0
    ) as l
    cross join lateral (select n.name from pgbaton.queue as n where n.id = s.queue_id offset 0) as q
    cross join lateral (
        select k.singleton_key, k.payload, k.created_at from pgbaton.job as k
        where k.id = s.lo and k.day = s.day
        offset 0
    ) as j
    left join lateral (
        select n.last_error from pgbaton.job_report as n where n.job_id = s.lo and n.day = s.day offset 0
    ) as r on true;
end;
$$;
comment on function pgbaton._dead_letters(pgbaton.span[]) is
'The failed jobs of these spans, which have one each, in their order.';
