create or replace function pgbaton._ended_as(job_ids bigint[], visible_ids bigint[])
returns setof pgbaton.job_outcome
language plpgsql stable
as $$
begin
    return query
    select
        i.id, coalesce(h.state, s.state), h.resolution, r.result, r.last_error, coalesce(h.finished_at, s.changed_at)
    from (
        select u.id, min(u.ordinal) as ordinal from unnest(job_ids) with ordinality as u (id, ordinal)
        group by u.id
        order by 2
        offset 0
    ) as i
    left join lateral (
        select n.lo, n.state, n.day, n.changed_at from pgbaton.span as n
        where pgbaton._covers(n.lo, n.hi, i.id) and i.id = any (visible_ids)
        order by n.lo desc
        limit 1
    ) as s on true
    left join lateral (
        select n.state, n.day, n.resolution, n.finished_at from pgbaton.job as j
        cross join lateral (
            select o.* from pgbaton.job_history as o
            where o.day = j.day and pgbaton._covers(o.lo, o.hi, j.id)
            limit 1
        ) as n
        where j.id = i.id and s.lo is null and i.id = any (visible_ids)
        limit 1
    ) as h on true
    left join lateral (
        select n.result, n.last_error from pgbaton.job_report as n
        where n.job_id = i.id and n.day = coalesce(h.day, s.day)
        offset 0
    ) as r on true
    where s.lo is null or s.state = 'failed'
    order by i.ordinal;
end;
$$;
comment on function pgbaton._ended_as(bigint[], bigint[]) is
'Which of these jobs have ended, and how, as job_outcomes returns it; those that are not among visible_ids are not
there.';
