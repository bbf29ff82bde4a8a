create or replace function pgbaton._erase(job_ids bigint[])
returns void
language plpgsql volatile
as $$
begin
    perform pgbaton._carve_history(job_ids);
    delete from pgbaton.job_report as r where r.job_id = any (job_ids);
    delete from pgbaton.job_error as e where e.job_id = any (job_ids);
    delete from pgbaton.job_edge as e where e.child_id = any (job_ids);
    delete from pgbaton.job as j where j.id = any (job_ids);
end;
$$;
comment on function pgbaton._erase(bigint[]) is
'Removes ended jobs for good, with their history, reports and errors.';
