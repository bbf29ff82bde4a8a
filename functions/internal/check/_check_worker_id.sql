create or replace function pgbaton._check_worker_id(worker_id text)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if worker_id is null or worker_id = '' or octet_length(worker_id) > 255 then
        raise exception using
            errcode = case
                when worker_id is null then 'null_value_not_allowed' else 'invalid_parameter_value'
            end,
            message = 'worker_id is null, empty or longer than 255 bytes',
            hint = 'Give each worker a name of its own, for example host and process id.';
    end if;
end;
$$;
comment on function pgbaton._check_worker_id(text) is
'Raises 22004 or 22023 unless it is a name of 1 to 255 bytes.';
