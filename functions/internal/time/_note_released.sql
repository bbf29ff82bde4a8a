create or replace function pgbaton._note_released(released_from bigint, at timestamptz)
returns void
language plpgsql volatile
as $$
declare
    v_xmin constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
    v_horizon pgbaton.watermark;
    v_from bigint;
begin
    -- As in _advance: unproven it counts after five seconds, and a sweep looks behind it.
    select w.* into v_horizon
    from pgbaton.watermark as w
    where w.kind = 'release_horizon' and w.lane_id = 0
        and (w.below_xid <= v_xmin or w.recorded_at < at - interval '5 seconds')
    order by w.kind desc, w.lane_id desc, w.value desc
    limit 1;
    v_from := least(
        v_horizon.value + 1,
        (select r.id from pgbaton.baton_release as r where r.id >= released_from order by r.id limit 1),
        (select r.id from pgbaton.rewind as r where r.id >= released_from order by r.id limit 1)
    );
    if v_from >= released_from + 16 then
        insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
        values (
            'released', 0, v_from,
            case
                when v_horizon.below_xid <= v_xmin then v_horizon.below_xid
                else greatest(v_horizon.below_xid, pg_current_xact_id())
            end, at
        );
    end if;
end;
$$;
comment on function pgbaton._note_released(bigint, timestamptz) is
'Notes the id before which all release rows and rewinds are settled, so that claims need not read what became of them.';
