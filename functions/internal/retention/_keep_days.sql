create or replace function pgbaton._keep_days(at timestamptz, days date[])
returns integer
language plpgsql volatile
as $$
begin
    return pgbaton._drop_days(at, days);
exception
    when lock_not_available then return 0;
end;
$$;
comment on function pgbaton._keep_days(timestamptz, date[]) is
'Drops days that are over and returns how many; leaves them for the next time when a long transaction is in the
way.';
