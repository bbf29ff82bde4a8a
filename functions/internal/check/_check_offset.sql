create or replace function pgbaton._check_offset(name text, value jsonb)
returns void
language plpgsql stable
as $$
declare
    v_next constant bigint := pgbaton._next_xid();
    v_xid bigint;
begin
    if value is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = format('%s is null', name),
            hint = 'Pass an offset of pgbaton.ended_jobs_offset(), or {} for the beginning.';
    elsif jsonb_typeof(value) <> 'object' or exists (
        select from jsonb_each(value) as e
        where e.key not in ('xid', 'at', 'next_xid', 'next_at') or jsonb_typeof(e.value) <> 'number'
    ) then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s is %s, which is no offset', name, value),
            hint = 'Pass an offset of pgbaton.ended_jobs_offset(), or {} for the beginning.';
    end if;
    v_xid := (value ->> 'xid')::bigint;
    if v_xid > v_next then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('%s is ahead of this server, whose next transaction is %s', name, v_next),
            hint = 'It belongs to another server, or this one was restored from a dump: start the stream anew.';
    elsif v_xid < v_next - 4294967295 then
        raise exception using
            errcode = 'object_not_in_prerequisite_state',
            message = format('%s is more than 2^32 transactions old', name),
            hint = 'Whether a job ended before or after it cannot be told any more: start the stream anew.';
    end if;
end;
$$;
comment on function pgbaton._check_offset(text, jsonb) is
'Raises 22004 or 22023 unless it is an offset of ended_jobs_offset, 55000 when it is not of this server.';
