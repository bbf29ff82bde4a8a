create or replace function pgbaton.run_maintenance()
returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_partitions integer;
begin
    if not pg_try_advisory_xact_lock(pgbaton._lock_class(), 0) then
        return jsonb_build_object('skipped', 'another session is at it');
    end if;
    v_partitions := pgbaton._add_partitions();
    return jsonb_build_object('partitions_added', v_partitions, 'keys_healed', pgbaton._heal_keys(10000))
        || pgbaton._sweep();
end;
$$;
comment on function pgbaton.run_maintenance() is
'Upkeep that any worker calls every few seconds, cheap when there is nothing to do: makes partitions ahead, makes due jobs claimable,
recovers ended leases, passes on batons, heals what a crash left, drops old watermarks. Returns what it did; skips when another session is at it.';
