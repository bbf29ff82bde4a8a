create or replace function pgbaton._sees_grants()
returns boolean
language plpgsql stable
as $$
begin
    return exists (select from pgbaton.queue_grant);
end;
$$;
comment on function pgbaton._sees_grants() is
'Whether there is a grant; ask _has_grants, which mostly knows without it.';
