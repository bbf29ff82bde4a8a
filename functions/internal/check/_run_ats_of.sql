create or replace function pgbaton._run_ats_of(run_ats timestamptz[], waits jsonb[])
returns timestamptz[]
language plpgsql immutable parallel safe
as $$
begin
    if waits is null then
        return run_ats;
    end if;
    return array(
        select case when u.wait is null then u.run_at else 'infinity' end
        from unnest(run_ats, waits) with ordinality as u (run_at, wait, ordinal)
        order by u.ordinal
    );
end;
$$;
comment on function pgbaton._run_ats_of(timestamptz[], jsonb[]) is
'When rows may run as far as is known: those that wait for jobs never, until _add_waits has noted for which.';
