create or replace function pgbaton._sweep()
returns jsonb
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_xmin constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
    v_last pgbaton.watermark;
    v_proven xid8 := xid8 '0';
    v_due bigint;
    v_recovered bigint;
    v_rewound bigint;
begin
    -- Of a clock that was set back: until it shows that time again, nothing would be due or swept.
    delete from pgbaton.watermark as w
    where w.ctid = any (array(
        select f.ctid from pgbaton.watermark as f
        where f.kind not in ('lane', 'horizon') and f.recorded_at > v_now + interval '10 seconds'
        for update skip locked
    ));
    select w.* into v_last
    from pgbaton.watermark as w
    where w.kind = 'sweep' and w.lane_id = 0
    order by w.kind desc, w.lane_id desc, w.value desc
    limit 1;
    -- Every ten minutes nothing is taken as proven: then it reads everything, also what died under an old snapshot.
    if date_bin('10 minutes', v_now, 'epoch') <= v_last.recorded_at then
        v_proven := v_last.below_xid;
    end if;

    v_due := pgbaton._make_due(pgbaton._proven_time('due', v_proven), v_now, 10000);
    perform pgbaton._pass_released();
    v_recovered := pgbaton._recover(
        pgbaton._ended_leases(pgbaton._proven_time('lease', v_proven), v_now, 1000), 'the lease ended'
    );
    v_rewound := pgbaton._recheck_watermarks(v_proven);

    perform pgbaton._drop_watermarks(v_now, v_xmin);
    insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
    values (
        'sweep', 0, pgbaton._micros(v_now),
        -- There may be more: the next one begins again.
        case when v_due < 10000 and v_recovered < 1000 then v_xmin else xid8 '0' end, v_now
    );
    return jsonb_build_object('made_due', v_due, 'recovered', v_recovered, 'lanes_rewound', v_rewound);
end;
$$;
comment on function pgbaton._sweep() is
'The thorough upkeep: finds what the watermarks of the claim may have passed by. Watermarks whose transactions
had ended at the last sweep were proven then; every ten minutes it looks behind those as well. Bounded and
without waiting for locks, so that it may run within a claim or wait_for_jobs, and in several sessions at once.';
