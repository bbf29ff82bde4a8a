create or replace function pgbaton._check_run_id(run_id text)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if run_id is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'run_id is null',
            hint = 'Name the run: what is sent again under the same name is enqueued once.';
    elsif run_id = '' or octet_length(run_id) > 1024 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'run_id is empty or longer than 1024 bytes',
            hint = 'Pass a short name that is the same when the run is repeated.';
    end if;
end;
$$;
comment on function pgbaton._check_run_id(text) is
'Raises 22004 for null, 22023 for an empty name of a run or one above 1024 bytes.';
