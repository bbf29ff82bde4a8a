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
    v_below_xid xid8;
begin
    -- Only a transaction that writes anyway, so that an idle worker's polling costs no transaction id.
    if pg_current_xact_id_if_assigned() is null then
        return;
    end if;
    -- A sweep takes it that who stores an earlier time has an older transaction id. When this one is from long before,
    -- that cannot be told: for the sweep it is never proven.
    v_below_xid := case when began_before then xid8 '18446744073709551615' else pg_current_xact_id() end;
    if not has_due and due_from < v_bound - interval '1 second' then
        insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
        values ('due', 0, pgbaton._micros(v_bound), v_below_xid, at);
    end if;
    if not has_ended and leases_from < v_bound - interval '1 second' then
        insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
        values ('lease', 0, pgbaton._micros(v_bound), v_below_xid, at);
    end if;
end;
$$;
comment on function pgbaton._note_times(timestamptz, boolean, timestamptz, boolean, timestamptz, boolean) is
'Notes up to when nothing is due and no lease has ended, so that the next scan need not read what was handled
before. began_before: whether the transaction had its id before at.';
