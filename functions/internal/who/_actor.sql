create or replace function pgbaton._actor()
returns text
language sql stable
as $$
    select case
        when current_setting('role') = 'none' then session_user::text
        else current_setting('role')
    end
$$;
comment on function pgbaton._actor() is
'Who calls: the role that was set, else the session user. current_user would be the owner of a security definer
function.';
