create or replace function pgbaton._check_action(action text)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if action is null or action not in ('enqueue', 'work', 'operate', 'monitor') then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('action %s is unknown', coalesce(quote_literal(action), 'null')),
            hint = 'Use enqueue, work, operate or monitor.';
    end if;
end;
$$;
comment on function pgbaton._check_action(text) is
'Raises 22023 unless it is enqueue, work, operate or monitor.';
