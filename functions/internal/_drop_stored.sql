create or replace function pgbaton._drop_stored(day date, job_ids bigint[])
returns void
language plpgsql volatile
as $$
begin
    delete from pgbaton.job as j where j.day = _drop_stored.day and j.id = any (job_ids);
end;
$$;
comment on function pgbaton._drop_stored(date, bigint[]) is
'Drops staged rows that stand in pgbaton.job and will be no jobs; none when job_ids is null.';
