create or replace function pgbaton._note_jobs(
    queue_id integer, run_id text, part integer, day date, job_ids bigint[]
)
returns void
language plpgsql volatile
as $$
declare
    v_new constant bigint[] := array_remove(job_ids, null);
    v_jobs constant integer := cardinality(v_new);
    v_ranges record;
begin
    perform pgbaton._count_part(queue_id, run_id, part, v_jobs, cardinality(job_ids) - v_jobs);
    v_ranges := pgbaton._id_ranges(v_new);
    perform pgbaton._note_range(queue_id, run_id, part, day, v_jobs, v_ranges.los, v_ranges.his);
end;
$$;
comment on function pgbaton._note_jobs(integer, text, integer, date, bigint[]) is
'Notes the jobs that rows of one statement became, and counts them; a null stands for a row whose dedup id was known.';
