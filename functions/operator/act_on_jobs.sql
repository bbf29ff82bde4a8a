create or replace function pgbaton.act_on_jobs(
    action text, filter jsonb, reason text default null, max_rows integer default 100, after text default null,
    dry_run boolean default false, run_at timestamptz default null, priority integer default null,
    out done bigint, out passed_over bigint, out next_after text
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_filter constant jsonb := pgbaton._action_filter(action, pgbaton._job_filter(filter));
    v_queue_ids constant integer[] := pgbaton._queue_filter(v_filter ->> 'queue', 'operate');
    v_at constant timestamptz := pgbaton._check_move(action, run_at, priority, dry_run);
    v_job_ids bigint[];
begin
    perform pgbaton._check_rows('max_rows', max_rows, case when dry_run then 10000 else 1000 end);
    select f.job_ids, f.next_after into v_job_ids, next_after
    from pgbaton._find_jobs(v_filter, v_queue_ids, max_rows, after, true) as f;
    done := cardinality(v_job_ids);
    if dry_run is not true and done > 0 then
        done := case
            when action = 'reschedule' then pgbaton._reschedule_jobs(v_job_ids, v_at)
            when action = 'prioritize' then pgbaton._prioritize_jobs(v_job_ids, priority)
            else pgbaton._act_on(action, v_job_ids, reason, (v_filter ->> 'extra_attempts')::integer)
        end;
        perform pgbaton._audit(
            'act_on_jobs', v_filter ->> 'queue', null, v_filter ->> 'singleton_key',
            concat_ws(
                ', ', format('%s %s jobs', action, done) || coalesce(' to ' || v_at, ' to ' || priority, ''),
                filter::text, reason
            )
        );
    end if;
    passed_over := cardinality(v_job_ids) - done;
end;
$$;
comment on function pgbaton.act_on_jobs(text, jsonb, text, integer, text, boolean, timestamptz, integer) is
'Does one thing with the jobs that fit a filter of find_jobs, the oldest first, and returns with how many. One call
takes at most max_rows of 1,000. The filter must say something, which an empty list or payload does not. The audit
keeps each call with its filter and reason.
action: retry (failed jobs, as retry_job; the filter may say extra_attempts, default 1), skip (failed jobs, as
skip_job), requeue (failed jobs, as requeue_dead_job), reschedule (jobs that nobody has claimed, or that wait for their
time or a retry, as reschedule_job: to run_at, null is at once), prioritize (the same jobs, as change_priority: to
priority), cancel (live jobs that have not failed, as cancel_jobs), delete (jobs that do not run, as delete_job) or
erase (failed and ended jobs, as delete_jobs). Jobs in other states are left alone.
dry_run: it only counts the jobs, and takes max_rows up to 10,000.
passed_over: jobs that somebody else changed meanwhile, or for which the policy of the queue leaves no place.
next_after: pass it as after for the next jobs; null: there are no more.
Raises PB001, PB009, PB010 (prioritize: the queue may have no more combinations of priority, job_type and tags), 22004,
22007 or 22023.';
