create or replace function pgbaton._block_group(wait pgbaton.job_wait)
returns text
language plpgsql volatile
as $$
begin
    perform from pgbaton.job_wait as w
    where w.child_id = wait.child_id and w.level = 0 and w.no = wait.no
    for update skip locked;
    if not found then
        return 'busy';
    elsif wait.on_failed = 'cancel' then
        return 'cancel';
    end if;
    update pgbaton.job_wait as w set blocked_at = pgbaton._now()
    where w.child_id = wait.child_id and w.level = 0 and w.no = wait.no;
    return 'blocked';
end;
$$;
comment on function pgbaton._block_group(pgbaton.job_wait) is
'A parent that the group does not watch did not complete: what that means to the child, as _settle_group returns it.';
