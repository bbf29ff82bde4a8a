create or replace function pgbaton._run_spans(run_id text, queue_ids integer[], first_id bigint, last_id bigint)
returns table (
    queue_id integer, part integer, lo bigint, hi bigint, day date, state pgbaton.job_state, resolution text,
    attempt integer, claimed_at timestamptz, ended_at timestamptz
)
language sql stable
as $$
    select
        g.queue_id, g.part, greatest(s.lo, r.lo), least(s.hi, r.hi), s.day, s.state, s.resolution, s.attempt,
        s.claimed_at, s.ended_at
    from pgbaton.enqueue_range as g
    cross join lateral unnest(g.los, g.his) as r (lo, hi)
    cross join lateral (
        select
            n.lo, n.hi, n.day, n.state, null::text as resolution, n.attempt, n.claimed_at,
            case when n.state = 'failed' then n.changed_at end as ended_at
        from pgbaton.span as n
        where pgbaton._overlaps(n.lo, n.hi, r.lo, r.hi)
        union all
        select n.lo, n.hi, n.day, n.state, n.resolution, n.attempt, n.claimed_at, n.finished_at
        from pgbaton.job_history as n
        where n.day >= g.day and n.day <= g.day + 1 and pgbaton._overlaps(n.lo, n.hi, r.lo, r.hi)
        offset 0
    ) as s
    where g.run_id = _run_spans.run_id and g.lo between first_id and last_id
        and (queue_ids is null or g.queue_id = any (queue_ids))
$$;
comment on function pgbaton._run_spans(text, integer[], bigint, bigint) is
'What is there of the jobs of a run, live and ended, from one place in it to another: spans, cut where the run ends. No
search_path, so that it inlines.';
