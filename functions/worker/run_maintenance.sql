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
    v_done jsonb := jsonb '{
        "keys_healed": 0, "made_due": 0, "recovered": 0, "lanes_rewound": 0, "dead_letters_expired": 0, "scheduled": 0,
        "partitions_added": 0, "days_dropped": 0
    }';
    v_late text[];
    v_failed jsonb;
    v_step text;
    v_one jsonb;
begin
    if not pg_try_advisory_xact_lock(pgbaton._lock_class(), 0) then
        return jsonb_build_object('skipped', 'another session is at it');
    end if;
    if once_a_minute and pgbaton._was_maintained(date_bin('1 minute', v_now, 'epoch'), v_now) then
        return jsonb_build_object('skipped', 'it was done in this minute');
    end if;
    v_one := pgbaton._try_step('failures of late', v_now);
    v_failed := coalesce(v_one -> 'failed', '{}');
    v_late := array(select jsonb_array_elements_text(v_one -> 'names'));
    foreach v_step in array array[
        'log of blocked keys', 'ends of blocks', 'blocks of long ago', 'dedup ids', 'rows staged by Spark',
        'runs of Spark', 'sleepers', 'sleepers that are gone', 'workers', 'lease losses', 'keys', 'rates of keys',
        'starts of keys', 'sweep', 'clock',
        -- Both may wait: for jobs before keys, as retry_job does.
        'dead letters', 'schedules',
        'note of the time',
        -- Last, since they keep everybody out of tables until the end.
        'partitions', 'days', 'inbox'
    ] loop
        v_one := pgbaton._try_rows(v_step, v_now, v_late);
        v_done := v_done || (v_one - 'failed');
        v_failed := v_failed || coalesce(v_one -> 'failed', '{}');
    end loop;
    v_failed := v_failed || coalesce(
        pgbaton._try_step('note of failures', v_now, v_failed::text) -> 'failed',
        pgbaton._try_step('failures that are over', v_now, v_failed::text) -> 'failed', '{}'
    );
    -- What was done for all queues is not for who is narrowed to some.
    if pgbaton._is_narrowed('work') then
        v_done := '{}';
    end if;
    if v_failed <> '{}' then
        v_done := v_done || jsonb_build_object('failed', pgbaton._failures_of(v_failed));
    end if;
    return v_done;
end;
$$;
comment on function pgbaton.run_maintenance(boolean) is
'Upkeep for once a minute, cheap when there is nothing to do: runs schedules, makes partitions ahead and drops old
days, makes due jobs claimable, recovers ended leases, passes on keys, repairs what a crash has left, expires dead
letters, logs long blocks, and forgets workers that were silent for a day. Returns what it did; a narrowed role only
learns which steps failed.

It does nothing while another session is at it or, with once_a_minute, as each Worker calls it, when it was done since
the full minute. Call it in its own transaction: new and dropped partitions lock their tables until it ends. Days are
dropped under READ COMMITTED only; under another level, old days are named under failed.

Each step is independent of the others, and so is each row in it; it waits at most 200 ms for a lock. A failure does
not hinder the others: it is named under failed with its SQLSTATE and message, and health() warns until it is done. A
row that failed is tried again after ten minutes.';
