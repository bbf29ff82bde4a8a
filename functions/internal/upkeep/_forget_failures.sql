create or replace function pgbaton._forget_failures(at timestamptz, failed jsonb)
returns void
language plpgsql volatile
as $$
begin
    if not exists (select from pgbaton.upkeep_failure)
        or not pg_try_advisory_xact_lock(pgbaton._lock_class(), 2)
    then
        return;
    end if;
    delete from pgbaton.upkeep_failure as u
    where not failed ? u.name
        -- A row that was put off is tried again after ten minutes only; a schedule stays due.
        and (
            u.name !~ ' "' or u.name ~ '^schedule "' or u.failed_at not between at - interval '12 minutes' and at
        );
end;
$$;
comment on function pgbaton._forget_failures(timestamptz, jsonb) is
'Forgets the failures that are not among these: their steps were done.';
