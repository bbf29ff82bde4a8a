create or replace function pgbaton.job_attempts(job_id bigint, max_rows integer default 100)
returns setof pgbaton.job_attempt
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_job constant pgbaton.job_info := pgbaton._job_info(job_id, 'monitor');
    v_day constant date := pgbaton._day(v_job.created_at);
begin
    perform pgbaton._check_rows('max_rows', max_rows, 1000);
    return query
    with failed as (
        select distinct on (e.attempt) e.* from pgbaton.job_error as e
        where e.job_id = job_attempts.job_id and e.day = v_day
        order by e.attempt, e.failed_at desc
    )
    select
        n.attempt,
        case
            when f.attempt is not null then 'failed'
            when n.attempt < v_job.attempt then 'lost'
            when v_job.state in ('active', 'cancelling') then 'running'
            when v_job.finished_at is not null then v_job.state::text
            else 'lost'
        end,
        case when f.attempt is null and n.attempt = v_job.attempt then v_job.claimed_at else f.claimed_at end,
        case when f.attempt is null and n.attempt = v_job.attempt then v_job.finished_at else f.failed_at end,
        case when f.attempt is null and n.attempt = v_job.attempt then v_job.worker_id else f.worker_id end,
        f.message, f.stack
    from generate_series(greatest(v_job.attempt - max_rows + 1, 1), v_job.attempt) as n (attempt)
    left join failed as f on f.attempt = n.attempt
    order by n.attempt desc;
end;
$$;
comment on function pgbaton.job_attempts(bigint, integer) is
'The attempts of a job, the latest first, at most max_rows of 1,000: when each was claimed and ended, by whom, with
which error and stack. Reads all failed attempts of the job. Raises PB002 (no such job), 22004 or 22023.';
