create or replace function pgbaton._longest_wait()
returns interval
language plpgsql stable
as $$
declare
    v_wait interval;
begin
    v_wait := coalesce(nullif(current_setting('pgbaton.longest_wait', true), '')::interval, '15 minutes');
    return case when v_wait > '0' then v_wait end;
exception when invalid_datetime_format or datetime_field_overflow or interval_field_overflow then
    return null;
end;
$$;
comment on function pgbaton._longest_wait() is
'How long a job may wait for a worker before health() says so: pgbaton.longest_wait, 15 minutes where it is not set;
null where it is no time above zero.';
