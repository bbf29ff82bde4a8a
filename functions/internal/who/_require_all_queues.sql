create or replace function pgbaton._require_all_queues(action text)
returns void
language plpgsql stable
as $$
begin
    if pgbaton._allowed_queues(action) is not null then
        raise exception using
            errcode = 'PB009',
            message = format('role %s is narrowed to some queues', pgbaton._actor()),
            hint = 'Only a role without grants of its own may do this.';
    end if;
end;
$$;
comment on function pgbaton._require_all_queues(text) is
'Raises PB009 when grants narrow the caller.';
