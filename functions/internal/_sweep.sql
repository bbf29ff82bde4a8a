create or replace function pgbaton._sweep()
returns jsonb
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_xmin constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
    v_due bigint;
    v_recovered bigint;
    v_rewound bigint;
begin
    v_due := pgbaton._make_due('-infinity', v_now, 10000);
    perform pgbaton._pass_released();
    v_recovered := pgbaton._recover(pgbaton._ended_leases('-infinity', v_now, 1000), 'the lease ended');
    v_rewound := pgbaton._recheck_watermarks();

    perform pgbaton._drop_watermarks(v_now, v_xmin);
    insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
    values ('sweep', 0, pgbaton._micros(v_now), v_xmin, v_now);
    return jsonb_build_object('made_due', v_due, 'recovered', v_recovered, 'lanes_rewound', v_rewound);
end;
$$;
comment on function pgbaton._sweep() is
'The thorough upkeep: finds what the watermarks of the claim may have passed by. Bounded and without waiting
for locks, so that it may run within a claim, and in several sessions at once.';
