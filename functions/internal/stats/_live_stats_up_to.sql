create or replace function pgbaton._live_stats_up_to(queue_ids integer[], most integer)
returns setof pgbaton.live_stat
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_now constant timestamptz := pgbaton._now();
begin
    return query
    with timed as (
        select s.queue_id, s.state, s.hi - s.lo + 1 as jobs, s.changed_at, s.attempt, s.held_key
        from only pgbaton.span as s
        where not s.ready and s.state in ('pending', 'retry', 'unknown_retry', 'failed') and s.run_at is not null
            and (_live_stats_up_to.queue_ids is null or s.queue_id = any (_live_stats_up_to.queue_ids))
        order by s.run_at, s.queue_id
        limit most
    ), held as (
        select s.queue_id, sum(s.hi - s.lo + 1)::bigint as jobs from pgbaton.held_span as s group by s.queue_id
    )
    select
        q.name, q.policy, q.is_paused,
        least(r.pending, most)::bigint, least(t.scheduled, most)::bigint, least(w.jobs, most)::bigint,
        coalesce((select h.jobs from held as h where h.queue_id = q.id), 0),
        least(r.retrying + t.retrying, most)::bigint, least(r.recovered + t.recovered, most)::bigint,
        f.jobs, v_now - n.created_at,
        least(f.keys + t.keys, most), v_now - least(f.since, t.since), greatest(f.retries, t.retries, 0)
    from pgbaton.queue as q
    cross join lateral pgbaton._heads_of(q.id, q.policy, most) as l
    cross join lateral (
        select
            coalesce(sum(s.jobs) filter (where s.state = 'pending'), 0) as pending,
            coalesce(sum(s.jobs) filter (where s.state = 'retry'), 0) as retrying,
            coalesce(sum(s.jobs) filter (where s.state = 'unknown_retry'), 0) as recovered
        from (
            select c.state, c.jobs
            from unnest(l.lane_ids, l.heads) as h (lane_id, head)
            cross join lateral (
                select s.state, s.hi - s.lo + 1 as jobs from pgbaton.claimable_span as s
                where s.lane_id = h.lane_id and s.position >= h.head
                order by s.position
                limit most
            ) as c
            limit most
        ) as s
    ) as r
    cross join lateral (
        select coalesce(sum(s.jobs), 0) as jobs
        from (
            select s.hi - s.lo + 1 as jobs from only pgbaton.span as s
            where s.queue_id = q.id and s.state = 'waiting'
            limit most
        ) as s
    ) as w
    cross join lateral (
        select
            count(*) as jobs, count(s.held_key) as keys,
            min(s.changed_at) filter (where s.held_key is not null) as since,
            max(s.attempt - 1) filter (where s.held_key is not null) as retries
        from (
            select s.held_key, s.changed_at, s.attempt from only pgbaton.span as s
            where s.queue_id = q.id and s.state = 'failed' and not s.ready and s.run_at is null
            order by s.run_at, s.queue_id, s.changed_at, s.lo
            limit most
        ) as s
    ) as f
    cross join lateral (
        select
            coalesce(sum(s.jobs) filter (where s.state = 'pending'), 0) as scheduled,
            coalesce(sum(s.jobs) filter (where s.state = 'retry'), 0) as retrying,
            coalesce(sum(s.jobs) filter (where s.state = 'unknown_retry'), 0) as recovered,
            count(*) filter (where s.state = 'retry' and s.held_key is not null) as keys,
            min(s.changed_at) filter (where s.state = 'retry' and s.held_key is not null) as since,
            max(s.attempt) filter (where s.state = 'retry' and s.held_key is not null) as retries
        from timed as s
        where s.queue_id = q.id
    ) as t
    left join lateral (
        select k.created_at
        from unnest(l.lane_ids, l.heads) as h (lane_id, head)
        cross join lateral (
            select s.lo, s.day, s.position from pgbaton.claimable_span as s
            where s.lane_id = h.lane_id and s.position = h.head
            offset 0
        ) as s
        cross join lateral (
            select j.created_at from pgbaton.job as j where j.id = s.lo and j.day = s.day offset 0
        ) as k
        order by s.position
        limit 1
    ) as n on true
    where _live_stats_up_to.queue_ids is null or q.id = any (_live_stats_up_to.queue_ids)
    order by q.name;
end;
$$;
comment on function pgbaton._live_stats_up_to(integer[], integer) is
'What live_stats returns, with a bounded number of rows read for each queue.';
