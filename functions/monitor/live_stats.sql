create or replace function pgbaton.live_stats(queue text default null, most integer default null)
returns setof pgbaton.live_stat
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'monitor');
begin
    if most is not null then
        perform pgbaton._check_rows('most', most, 1000000);
        return query select l.* from pgbaton._live_stats_up_to(v_queue_ids, most) as l;
        return;
    end if;
    return query
    select
        q.name, q.policy, q.is_paused,
        coalesce(sum(c.jobs) filter (where c.doing = 'pending'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.doing = 'scheduled'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.doing = 'waiting'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.doing = 'processing'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.doing = 'retry'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.doing = 'unknown_retry'), 0)::bigint,
        coalesce(sum(c.jobs) filter (where c.doing = 'failed'), 0)::bigint,
        v_now - min(j.created_at),
        coalesce(min(b.keys), 0), v_now - min(b.since), coalesce(min(b.retries), 0)
    from pgbaton.queue as q
    left join (
        select
            s.queue_id,
            case
                when s.state = 'pending' and coalesce(s.run_at > v_now, false) then 'scheduled'
                when s.state in ('active', 'cancelling') then 'processing'
                else s.state::text
            end as doing,
            sum(s.hi - s.lo + 1) as jobs,
            (min(array[s.position, s.lo]) filter (where s.ready))[2] as oldest_ready
        from pgbaton.span as s
        where v_queue_ids is null or s.queue_id = any (v_queue_ids)
        group by 1, 2
    ) as c on c.queue_id = q.id
    left join lateral (
        select k.created_at from pgbaton.job as k where k.id = c.oldest_ready offset 0
    ) as j on true
    left join (
        select s.queue_id, count(*) as keys, min(s.changed_at) as since, max(r.retry_count) as retries
        from only pgbaton.span as s
        left join lateral (
            select n.retry_count from pgbaton.job_report as n where n.job_id = s.lo and n.day = s.day offset 0
        ) as r on true
        where s.held_key is not null and s.slot <= 0 and s.state in ('failed', 'retry') and not s.ready
            and (v_queue_ids is null or s.queue_id = any (v_queue_ids))
        group by s.queue_id
    ) as b on b.queue_id = q.id
    where v_queue_ids is null or q.id = any (v_queue_ids)
    group by q.id
    order by q.name;
end;
$$;
comment on function pgbaton.live_stats(text, integer) is
'One row for each queue (or the named one): its live jobs by what they are doing, the age of the next job, and for FIFO
queues how many keys are blocked, for how long and after how many retries at most. Reads live jobs only, so unlike
queue_stats it costs no more as history grows.
most: from 1 to 1,000,000; counts no further than that in each queue, and reads no more rows for each number, so a
number that is as large as most may be larger in truth. Of the jobs that wait for their time (scheduled, retrying,
recovered) it then counts only the first ones of all queues that it shows, and takes max_retry_count from the attempts
of the jobs that it has read. Jobs that are with workers are counted in full.
Raises PB001 or 22023.';
