create or replace function pgbaton._note_horizon(
    last_horizon bigint, is_old boolean, last_release bigint, at timestamptz
)
returns void
language plpgsql volatile
as $$
declare
    -- Not a scan of the sequence: with sequential scans off it costs enough to be compiled.
    v_position constant bigint := coalesce(pg_sequence_last_value('pgbaton.position_seq'), 0);
    v_release constant bigint := coalesce(pg_sequence_last_value('pgbaton.baton_release_id_seq'), 0);
begin
    if v_position < last_horizon + (case when is_old then 1 else 64 * 16 end) and v_release < last_release + 16
        or pg_current_xact_id_if_assigned() is not null
    then
        return;
    end if;
    -- Every enqueue takes its transaction id before it draws a position, and whoever leaves a release row before its
    -- id. So all up to the two that were read above were drawn by transactions older than the id that this transaction
    -- gets only now.
    insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
    values
    ('horizon', 0, v_position, pg_current_xact_id(), at),
    ('release_horizon', 0, v_release, pg_current_xact_id(), at);
end;
$$;
comment on function pgbaton._note_horizon(bigint, boolean, bigint, timestamptz) is
'Notes up to where positions, and ids of release rows, were drawn, and the transaction below which all that drew them
stand. Once those have ended, no new claimable job can appear below that position, and no release row up to that id.
Not again for a few of them, unless the last note of positions is old.';
