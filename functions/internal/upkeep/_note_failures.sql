create or replace function pgbaton._note_failures(at timestamptz, failed jsonb)
returns void
language plpgsql volatile
as $$
begin
    -- One at a time, and nobody waits: it may be a claim that met a failure. The next upkeep meets it again.
    if failed = '{}' or not pg_try_advisory_xact_lock(pgbaton._lock_class(), 2) then
        return;
    end if;
    insert into pgbaton.upkeep_failure as u (name, failed_since, failed_at, code, message)
    select f.name, at, at, f.failure ->> 'code', f.failure ->> 'message'
    from jsonb_each(failed) as f (name, failure)
    on conflict on constraint upkeep_failure_pkey do update
    set failed_at = excluded.failed_at, code = excluded.code, message = excluded.message;
end;
$$;
comment on function pgbaton._note_failures(timestamptz, jsonb) is
'Keeps what failed for health(): an object of names, each with code and message, as _try_step returns it.';
