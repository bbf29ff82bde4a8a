create or replace function pgbaton._jobs_of(spans pgbaton.span[])
returns table (
    job_id bigint, payload jsonb, options pgbaton.job_options,
    queue pgbaton.queue, span pgbaton.span, is_spent boolean
)
language plpgsql stable
as $$
begin
    return query
    select
        j.id, j.payload, j.options, q, s::pgbaton.span,
        coalesce(s.attempt >= coalesce((j.options).max_attempts, q.max_attempts) + coalesce(s.extra_attempts, 0), false)
            or (s.policy = 'stately' and exists (
                -- One job of a key may be in retry: the next one that fails, fails for good.
                select from only pgbaton.span as r
                where r.queue_id = s.queue_id and r.singleton_key = s.singleton_key and r.slot = -2 and r.lo <> s.lo
                offset 0
            ))
    from unnest(spans) as s
    cross join lateral (
        select k.id, k.payload, k.options
        from pgbaton.job as k
        where k.day = s.day and k.id between s.lo and s.hi
        order by k.id
        offset 0
    ) as j
    inner join pgbaton.queue as q on q.id = s.queue_id;
end;
$$;
comment on function pgbaton._jobs_of(pgbaton.span[]) is
'The jobs of these spans, each with its span, its queue and whether its attempts are used up.';
