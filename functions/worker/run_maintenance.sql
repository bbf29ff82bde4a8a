create or replace function pgbaton.run_maintenance(once_a_minute boolean default false)
returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_minute constant timestamptz := date_bin('1 minute', v_now, 'epoch');
    v_done jsonb;
begin
    if not pg_try_advisory_xact_lock(pgbaton._lock_class(), 0) then
        return jsonb_build_object('skipped', 'another session is at it');
    end if;
    if once_a_minute and exists (
        select from pgbaton.watermark as w
        where w.kind = 'maintenance' and w.lane_id = 0
            and w.value between pgbaton._micros(v_minute) and pgbaton._micros(v_minute + interval '1 minute')
    ) then
        return jsonb_build_object('skipped', 'it was done in this minute');
    end if;
    perform pgbaton._log_blocks(v_now);
    perform pgbaton._forget_dedup_ids(v_now);
    perform pgbaton.spark_gc();
    delete from pgbaton.sleeper as s where s.asleep_at < v_now - interval '5 minutes';
    -- Each start of a worker may bring a new name.
    delete from pgbaton.worker as w where w.heartbeat_at < v_now - interval '1 day';
    perform pgbaton._merge_lease_losses();
    v_done := jsonb_build_object('keys_healed', pgbaton._heal_keys(10000));
    v_done := v_done || pgbaton._sweep();
    -- Both may wait: for jobs before keys, as retry_job does.
    v_done := v_done || jsonb_build_object('dead_letters_expired', pgbaton._expire_dead_letters(v_now));
    v_done := v_done || jsonb_build_object('scheduled', pgbaton._run_schedules(v_now));
    insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
    values ('maintenance', 0, pgbaton._micros(v_now), pg_current_xact_id(), v_now);
    -- Last, since they keep everybody out of tables until the end.
    v_done := v_done || jsonb_build_object(
        'partitions_added', pgbaton._keep_partitions(), 'days_dropped', pgbaton._keep_days(v_now)
    );
    perform pgbaton._empty_inbox();
    return v_done;
end;
$$;
comment on function pgbaton.run_maintenance(boolean) is
'Upkeep for once a minute, cheap when there is nothing to do: runs schedules, makes partitions ahead and drops
days that are over, makes due jobs claimable, recovers ended leases, passes on batons, heals what a crash left,
expires dead letters, logs long blocks, forgets workers that were silent for a day. Returns what it did; skips
when another session is at it, and with once_a_minute, as each Worker calls it, when it was done since the full
minute. Call it in a transaction of its own: new and dropped partitions lock their tables until it ends.';
