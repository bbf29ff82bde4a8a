create or replace function pgbaton._check_claim(
    worker_id text, job_types text[], batch_size integer, lease interval
)
returns void
language plpgsql immutable parallel safe
as $$
begin
    perform pgbaton._check_worker_id(worker_id);
    if batch_size is null or batch_size not between 1 and 100000 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('batch_size is %s', coalesce(batch_size::text, 'null')),
            hint = 'Pass how many jobs to claim, from 1 to 100000.';
    end if;
    perform pgbaton._check_flat('job_types', array_ndims(job_types));
    if cardinality(job_types) = 0 or array_position(job_types, null) is not null then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'job_types is empty or holds a null',
            hint = 'Name the job types to work on, or pass null for all.';
    end if;
    perform pgbaton._check_duration('lease', lease, false);
end;
$$;
comment on function pgbaton._check_claim(text, text[], integer, interval) is
'Raises 22004, 22023 or 2202E for a bad argument of claim_job_batch.';
