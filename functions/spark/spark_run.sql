create or replace function pgbaton.spark_run(run_id text)
returns table (part integer, jobs bigint, duplicates bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_allowed constant integer[] := pgbaton._allowed_queues('enqueue');
begin
    perform pgbaton._check_run_id(run_id);
    return query
    select l.part, sum(l.jobs)::bigint, sum(l.duplicates)::bigint from pgbaton.enqueue_ledger as l
    where l.run_id = spark_run.run_id and (v_allowed is null or l.queue_id = any (v_allowed))
    group by l.part
    order by l.part;
end;
$$;
comment on function pgbaton.spark_run(text) is
'What a run has enqueued into the queues of the caller: its parts, the jobs that each became, and the rows whose
dedup_id was known. A run of spark_commit is part 0 alone. No row for a run that is not known or was forgotten.
Raises 22004 or 22023.';
