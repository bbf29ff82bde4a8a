create or replace function pgbaton.spark_run(run_id text)
returns table (part integer, jobs bigint, duplicates bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pgbaton._check_run_id(run_id);
    return query
    select l.part, l.jobs, l.duplicates from pgbaton.enqueue_ledger as l
    where l.run_id = spark_run.run_id
    order by l.part;
end;
$$;
comment on function pgbaton.spark_run(text) is
'What is enqueued of a run: its parts, the jobs that each became, and the rows whose dedup_id was known. A run of
spark_commit is part 0 alone. Nothing for a run that is not known or was forgotten.
Raises 22004 or 22023.';
