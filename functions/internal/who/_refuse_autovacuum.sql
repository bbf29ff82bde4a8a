create or replace function pgbaton._refuse_autovacuum()
returns void
language plpgsql stable
as $$
begin
    -- It has no session user.
    if exists (select from pg_stat_get_activity(pg_backend_pid()) as a where a.usesysid is null) then
        raise exception using
            errcode = 'PB009',
            message = 'pgbaton does not run in autovacuum while grants narrow roles',
            hint = 'Somebody''s index or statistics call it: drop them.';
    end if;
end;
$$;
comment on function pgbaton._refuse_autovacuum() is
'Raises PB009 in autovacuum, which is a superuser to us while it computes the expressions of anybody''s indexes.';
