create or replace function pgbaton._note_times(
    due_from timestamptz, has_due boolean, leases_from timestamptz, has_ended boolean, at timestamptz
)
returns void
language plpgsql volatile
as $$
declare
    -- Two seconds behind: whoever commits a due time later than that is found by _sweep.
    v_bound constant timestamptz := at - interval '2 seconds';
begin
    -- Only a transaction that writes anyway, so that an idle worker's polling costs no transaction id.
    if pg_current_xact_id_if_assigned() is null then
        return;
    end if;
    if not has_due and due_from < v_bound - interval '1 second' then
        insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
        values ('due', 0, pgbaton._micros(v_bound), pg_current_xact_id(), at);
    end if;
    if not has_ended and leases_from < v_bound - interval '1 second' then
        insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
        values ('lease', 0, pgbaton._micros(v_bound), pg_current_xact_id(), at);
    end if;
end;
$$;
comment on function pgbaton._note_times(timestamptz, boolean, timestamptz, boolean, timestamptz) is
'Notes up to when nothing is due and no lease has ended, so that the next scan need not read what was handled
before.';
