create or replace function pgbaton.find_jobs(
    filter jsonb default '{}', max_rows integer default 50, after text default null, oldest_first boolean default false,
    out job_ids bigint[], out next_after text
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
    filter := pgbaton._job_filter(filter);
    perform pgbaton._check_rows('max_rows', max_rows, 10000);
    select f.job_ids, f.next_after into job_ids, next_after
    from pgbaton._find_jobs(
        filter, pgbaton._queue_filter(filter ->> 'queue', 'monitor'), max_rows, after, coalesce(oldest_first, false)
    ) as f;
end;
$$;
comment on function pgbaton.find_jobs(jsonb, integer, text, boolean) is
'Ids of the jobs, live or ended, that fit a filter, at most max_rows of 10,000: the latest ids first, or the oldest.
Dead letters alone (states ["failed"]) come in the order in which they failed.
filter: all of its keys must fit: ids; queue; states (any of them; failed are dead letters, given_up are jobs that had
failed and that somebody gave up, or that expired); job_type; tags (all of them); singleton_key; worker_id (its last
claim); error (part of the last message); payload (what the payload contains); created_after, created_before,
ended_after, ended_before (instants; a dead letter ended when it failed).

One call looks at about 10,000 ranges of jobs at most, or at about 4,000 jobs when each must be read (for key, error,
payload or time of enqueue). Then it returns what it has found so far. next_after: pass it as after to go on; null:
there are no more.
Raises PB001, 22007 or 22023.';
