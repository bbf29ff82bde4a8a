create or replace function pgbaton._sweep(is_full boolean default false)
returns jsonb
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_xmin constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
    v_last pgbaton.watermark;
    v_proven xid8 := xid8 '0';
    v_done jsonb;
    v_failed jsonb;
begin
    v_done := pgbaton._try_step('times ahead', v_now);
    v_failed := coalesce(v_done -> 'failed', '{}');
    select w.* into v_last
    from pgbaton.watermark as w
    where w.kind = 'sweep' and w.lane_id = 0
    order by w.kind desc, w.lane_id desc, w.value desc
    limit 1;
    -- In full nothing is taken as proven: then it reads everything, also what died under an old snapshot.
    if not is_full then
        v_proven := coalesce(v_last.below_xid, v_proven);
    end if;

    v_done := v_done || pgbaton._try_spans('due jobs', v_now, pgbaton._proven_time('due', v_proven), 10000);
    v_failed := v_failed || coalesce(v_done -> 'failed', '{}');
    v_done := v_done || pgbaton._try_released(v_now, pgbaton._released_from(v_proven), is_full);
    v_failed := v_failed || coalesce(v_done -> 'failed', '{}');
    v_done := v_done || pgbaton._try_step('rewinds', v_now, v_proven::text);
    v_failed := v_failed || coalesce(v_done -> 'failed', '{}');
    v_done := v_done || pgbaton._try_spans('ended leases', v_now, pgbaton._proven_time('lease', v_proven), 1000);
    v_failed := v_failed || coalesce(v_done -> 'failed', '{}');
    v_done := v_done || pgbaton._try_step('lanes', v_now, v_proven::text);
    v_failed := v_failed || coalesce(v_done -> 'failed', '{}');
    if is_full then
        v_done := v_done || pgbaton._try_step('watermarks', v_now);
        v_failed := v_failed || coalesce(v_done -> 'failed', '{}');
    end if;
    if v_failed <> '{}' then
        perform pgbaton._try_step('note of failures', v_now, v_failed::text);
    end if;

    insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
    values (
        'sweep', 0, pgbaton._micros(v_now),
        -- There may be more, or what failed is still there: the next one begins again.
        case
            when v_failed = '{}' and (v_done ->> 'made_due')::bigint < 10000 and (v_done ->> 'recovered')::bigint < 1000
                then v_xmin
            else xid8 '0'
        end, v_now
    );
    return v_done || jsonb_build_object('failed', v_failed);
end;
$$;
comment on function pgbaton._sweep(boolean) is
'The thorough upkeep: finds what the watermarks of the claim may have passed by. Watermarks whose transactions
had ended at the last sweep were proven then; is_full, as run_maintenance has it every ten minutes, looks behind those
as well and drops those of which a higher one will do. Bounded and without waiting for locks, so that it may run within
a claim or wait_for_jobs, and in several sessions at once. A step that fails does not hinder the others, nor the
claim.';
