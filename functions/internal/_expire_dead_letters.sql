create or replace function pgbaton._expire_dead_letters(at timestamptz)
returns bigint
language plpgsql volatile
as $$
declare
    v_spans pgbaton.span[];
begin
    v_spans := pgbaton._carve(
        array(
            select g.id
            from pgbaton.queue as q
            inner join pgbaton.span as s on s.queue_id = q.id
            cross join lateral generate_series(s.lo, s.hi) as g (id)
            where q.dead_letter_retention is not null and s.state = 'failed' and not s.ready
                and s.run_at is null and s.held_key is null
                and s.changed_at < pgbaton._after(at, -q.dead_letter_retention)
            limit 10000
        ),
        array['failed']::pgbaton.job_state[]
    );
    perform pgbaton._finish(v_spans, 'failed', 'expired');
    return (select coalesce(sum(s.hi - s.lo + 1), 0) from unnest(v_spans) as s);
end;
$$;
comment on function pgbaton._expire_dead_letters(timestamptz) is
'Gives up failed jobs whose queue keeps them no longer, but none that holds a key, and returns how many; at
most 10000 a call.';
