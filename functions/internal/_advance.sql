create or replace function pgbaton._advance(lane_id integer, start bigint)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_horizon pgbaton.watermark;
    v_first_ready bigint;
    v_bound bigint;
begin
    -- The newest horizon whose transactions have ended. One that waits for an unrelated long transaction counts
    -- after five seconds all the same: what such a transaction may still commit behind it is found by _sweep.
    select w.* into v_horizon
    from pgbaton.watermark as w
    where w.kind = 'horizon' and w.lane_id = 0 and (
        w.below_xid <= pg_snapshot_xmin(pg_current_snapshot())
        or w.recorded_at < pgbaton._now() - interval '5 seconds'
    )
    order by w.kind desc, w.lane_id desc, w.value desc
    limit 1;
    if not found or v_horizon.value < start + 64 * 128 then
        return;
    end if;

    -- Not locked: what another session has claimed and not committed still counts as ready.
    select s.position into v_first_ready
    from pgbaton.span as s
    where s.lane_id = _advance.lane_id and s.ready and s.position >= start
    order by s.lane_id, s.position
    limit 1;
    v_bound := least(v_first_ready, v_horizon.value);

    delete from pgbaton.rewind as r
    where r.ctid = any (array(
        select w.ctid from pgbaton.rewind as w
        where w.lane_id = _advance.lane_id and w.position < v_bound
        for update skip locked
    ));
    if v_bound >= start + 64 * 128 then
        insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
        values ('lane', _advance.lane_id, v_bound, v_horizon.below_xid, pgbaton._now());
    end if;
end;
$$;
comment on function pgbaton._advance(integer, bigint) is
'Raises the watermark of a lane to its first claimable span, at most to the horizon, and drops rewinds below
it.';
