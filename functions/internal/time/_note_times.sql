create or replace function pgbaton._note_times(
    due_from timestamptz, has_due boolean, leases_from timestamptz, has_ended boolean, at timestamptz,
    began_before boolean
)
returns void
language plpgsql volatile
as $$
declare
    -- Two seconds behind: whoever commits a due time later than that is found by _sweep.
    v_bound constant timestamptz := at - interval '2 seconds';
    v_due_bound timestamptz := v_bound;
    v_lease_bound timestamptz := v_bound;
    v_below_xid xid8;
begin
    -- Only a transaction that writes anyway, so that an idle worker's polling costs no transaction id.
    if pg_current_xact_id_if_assigned() is null then
        return;
    end if;
    -- A sweep takes it that who stores an earlier time has an older transaction id. When this one is from long before,
    -- that cannot be told: for the sweep it is never proven.
    v_below_xid := case when began_before then xid8 '18446744073709551615' else pg_current_xact_id() end;
    -- Up to what is left: there was more than one round takes, or somebody else is at it.
    if has_due and due_from < v_bound - interval '1 second' then
        v_due_bound := least(v_bound, (
            select s.run_at from only pgbaton.span as s
            where not s.ready and s.state in ('pending', 'retry', 'unknown_retry')
                and s.run_at >= due_from and s.run_at <= at
            order by s.run_at
            limit 1
        ));
    end if;
    if has_ended and leases_from < v_bound - interval '1 second' then
        v_lease_bound := least(v_bound, (
            select s.lease_until from pgbaton.held_span as s
            where s.state in ('active', 'cancelling') and s.lease_until >= leases_from and s.lease_until < at
            order by s.lease_until
            limit 1
        ));
    end if;
    if due_from < v_due_bound - interval '1 second' then
        insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
        values ('due', 0, pgbaton._micros(v_due_bound), v_below_xid, at);
    end if;
    if leases_from < v_lease_bound - interval '1 second' then
        insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
        values ('lease', 0, pgbaton._micros(v_lease_bound), v_below_xid, at);
    end if;
end;
$$;
comment on function pgbaton._note_times(timestamptz, boolean, timestamptz, boolean, timestamptz, boolean) is
'Notes up to when nothing is due and no lease has ended, so that the next scan need not read what was handled
before. began_before: whether the transaction had its id before at.';
