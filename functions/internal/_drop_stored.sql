create or replace function pgbaton._drop_stored(day date, job_ids bigint[])
returns integer
language plpgsql volatile
as $$
declare
    v_count integer;
begin
    delete from pgbaton.job as j where j.day = _drop_stored.day and j.id = any (job_ids);
    get diagnostics v_count = row_count;
    return v_count;
end;
$$;
comment on function pgbaton._drop_stored(date, bigint[]) is
'Drops staged rows that stand in pgbaton.job and will be no jobs, and returns how many.';
