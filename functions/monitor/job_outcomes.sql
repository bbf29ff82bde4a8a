create or replace function pgbaton.job_outcomes(job_ids bigint[])
returns setof pgbaton.job_outcome
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_mine bigint[];
begin
    perform pgbaton._check_ids(job_ids);
    v_mine := pgbaton._granted_ids(job_ids, 'monitor');
    return query select * from pgbaton._ended_as(job_ids, v_mine);
end;
$$;
comment on function pgbaton.job_outcomes(bigint[]) is
'Which of these jobs have ended, and how: one row for each in the given order, none for those that wait or run. A dead
letter has ended as failed until an operator runs it again. The state is null for a job that does not exist, was never
committed, is gone with its retention, or is of a queue that is not yours.
Raises 22004 (a null among the ids) or 2202E.';
