create or replace function pgbaton.run_maintenance()
returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
    if not pg_try_advisory_xact_lock(pgbaton._lock_class(), 0) then
        return jsonb_build_object('skipped', 'another session is at it');
    end if;
    return pgbaton._sweep() || jsonb_build_object(
        'keys_healed', pgbaton._heal_keys(10000),
        'partitions_added', pgbaton._keep_partitions()
    );
end;
$$;
comment on function pgbaton.run_maintenance() is
'Upkeep that any worker calls every few seconds, cheap when there is nothing to do: makes partitions ahead,
makes due jobs claimable,
recovers ended leases, passes on batons, heals what a crash left, drops old watermarks. Returns what it did;
skips when another session is at it.
Call it in a transaction of its own: a day''s new partitions lock their tables until it ends.';
