create or replace function pgbaton.ended_jobs(
    after jsonb, until jsonb, queue text default null, first_id bigint default null, last_id bigint default null
)
returns setof pgbaton.ended_job
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'monitor');
begin
    perform pgbaton._check_offset('after', after);
    perform pgbaton._check_offset('until', until);
    perform pgbaton._check_reached(after, until);
    return query
    select
        j.id, q.name, l.job_type, l.tags, l.priority, j.singleton_key, e.state, e.resolution, e.attempt, j.payload,
        j.created_at, e.run_at, e.claimed_at, e.started_at, e.ended_at, e.worker_id, r.retry_count, r.last_error,
        r.result
    from pgbaton._ended_between(after, until) as e
    cross join lateral (
        select n.job_type, n.tags, n.priority from pgbaton.lane as n where n.id = e.lane_id offset 0
    ) as l
    cross join lateral (select n.name from pgbaton.queue as n where n.id = e.queue_id offset 0) as q
    cross join lateral (
        select k.id, k.singleton_key, k.payload, k.created_at, k.day
        from pgbaton.job as k
        where k.day = e.day and k.id between e.lo and e.hi
        order by k.id
        offset 0
    ) as j
    left join lateral (
        select n.retry_count, n.last_error, n.result from pgbaton.job_report as n
        where n.job_id = j.id and n.day = j.day
        offset 0
    ) as r on true
    where (v_queue_ids is null or e.queue_id = any (v_queue_ids))
        and e.lo >= coalesce(first_id, 0) and e.lo <= coalesce(last_id, 9223372036854775807);
end;
$$;
comment on function pgbaton.ended_jobs(jsonb, jsonb, text, bigint, bigint) is
'The jobs that ended or failed between two offsets of ended_jobs_offset (after the first, up to the second), of a queue
(null: of all that the caller may monitor), and of a range of ended_jobs_ranges. A job that failed and is retried,
deleted or dropped by retention before it is read does not come. A job that was given up (unknown_stopped) and
completed after all comes once in each state, and so does a failed one that an operator skips.
Reads what ended or failed since an hour before after, and what vacuum has not summarized yet.
Raises PB001, PB009, 22004 or 22023 for a value that is no offset, 55000 for an offset of another server, or for an
until that this transaction does not reach: it began earlier, or reads from a replica that is behind.';
