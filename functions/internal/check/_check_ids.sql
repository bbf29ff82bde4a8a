create or replace function pgbaton._check_ids(job_ids bigint[])
returns void
language plpgsql immutable parallel safe
as $$
begin
    if array_ndims(job_ids) > 1 then
        perform pgbaton._check_flat('job_ids', array_ndims(job_ids));
    end if;
    if job_ids is null or array_position(job_ids, null) is not null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'job_ids is null or holds a null',
            hint = 'Pass an array of job ids, ''{}'' for none.';
    end if;
end;
$$;
comment on function pgbaton._check_ids(bigint[]) is
'Raises 22004 or 2202E unless it is a list of ids.';
