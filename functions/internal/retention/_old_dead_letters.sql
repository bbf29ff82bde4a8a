create or replace function pgbaton._old_dead_letters(at timestamptz)
returns text[]
language plpgsql volatile
as $$
begin
    return array(
        select g.id::text
        from pgbaton.queue as q
        -- The first of the queue to have failed, as the index has them.
        cross join lateral (
            select n.lo, n.hi from only pgbaton.span as n
            where n.queue_id = q.id and n.state = 'failed' and not n.ready and n.run_at is null
                and n.held_key is null and n.changed_at < pgbaton._after(at, -q.dead_letter_retention)
                and not exists (
                    select from pgbaton.job_edge as e
                    inner join pgbaton.job_wait as w on w.child_id = e.child_id
                    where e.parent_id = n.lo
                )
            limit 10000
            for update skip locked
        ) as s
        cross join lateral generate_series(s.lo, s.hi) as g (id)
        where q.dead_letter_retention is not null
        limit 10000
    );
end;
$$;
comment on function pgbaton._old_dead_letters(timestamptz) is
'Failed jobs whose queue keeps them no longer, but none that holds a key, or that others wait for; at most 10000.';
