create or replace function pgbaton.blocked_keys(queue text default null, include_busy boolean default false)
returns setof pgbaton.blocked_key
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'operate');
begin
    return query
    select
        q.name, s.held_key, s.lo, s.state,
        coalesce(s.changed_at, s.claimed_at, j.created_at),
        s.attempt, r.last_error,
        (
            select coalesce(sum(w.hi - w.lo + 1), 0)::bigint from pgbaton.span as w
            where w.queue_id = s.queue_id and w.singleton_key = s.held_key and w.state = 'waiting'
        ),
        case when s.state in ('pending', 'retry', 'unknown_retry') then s.run_at end
    from pgbaton.span as s
    inner join pgbaton.queue as q on q.id = s.queue_id
    inner join pgbaton.job as j on j.id = s.lo and j.day = s.day
    left join pgbaton.job_report as r on r.job_id = s.lo and r.day = s.day
    where s.held_key is not null
        and (v_queue_ids is null or s.queue_id = any (v_queue_ids))
        and (s.state = 'failed' or include_busy or (s.state = 'retry' and not s.ready))
    order by 5, 3;
end;
$$;
comment on function pgbaton.blocked_keys(text, boolean) is
'Keys that are held by a failed job or one that waits to be retried, longest first: which job, since when,
after how many attempts, with what error, how many jobs wait behind it and when it runs again (null: not by
itself). queue null: all.
include_busy: keys whose job is running or about to run as well. Raises PB001.';
