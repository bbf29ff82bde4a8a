create or replace function pgbaton._is_narrowed(action text)
returns boolean
language plpgsql stable
set lock_timeout = '200ms'
as $$
begin
    return pgbaton._allowed_queues(action) is not null;
exception
    when lock_not_available then
        return true;  -- nobody can tell: as if
end;
$$;
comment on function pgbaton._is_narrowed(text) is
'Whether there are queues of which the caller hears nothing, for upkeep, which goes on while tables are locked.';
