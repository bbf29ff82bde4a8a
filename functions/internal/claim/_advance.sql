create or replace function pgbaton._advance(lane_id integer, is_plain boolean, start bigint, step bigint)
returns void
language plpgsql volatile
as $$
declare
    v_released_from constant bigint := pgbaton._released_from();
    v_horizon pgbaton.watermark;
    v_is_proven boolean;
    v_bound record;
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
    if not found or v_horizon.value < start + step then
        return;
    end if;

    v_is_proven := v_horizon.below_xid <= pg_snapshot_xmin(pg_current_snapshot());

    -- The span is not locked: what another session has claimed and not committed still counts as ready.
    -- One statement: whoever's rewind is seen here, its jobs are seen as well.
    with bound as materialized (
        select
            least(case
                when is_plain then (
                    select s.position from pgbaton.ready_span as s
                    where s.lane_id = _advance.lane_id and s.position >= start
                    order by s.lane_id, s.position
                    limit 1
                )
                else (
                    select s.position from only pgbaton.span as s
                    where s.lane_id = _advance.lane_id and s.ready and s.position >= start
                    order by s.lane_id, s.position
                    limit 1
                )
            end, v_horizon.value) as value,
            coalesce((
                select w.value from pgbaton.watermark as w
                where w.kind = 'lane' and w.lane_id = _advance.lane_id
                order by w.kind desc, w.lane_id desc, w.value desc
                limit 1
            ), 0) as watermark
    ), tidied as (
        delete from pgbaton.rewind as r
        where r.ctid = any (array(
            select w.ctid from pgbaton.rewind as w
            where w.lane_id = _advance.lane_id and w.id >= v_released_from and w.position >= start
                and w.position < (
                    select b.value from bound as b
                    where b.value >= b.watermark or b.value >= start + step
                )
            for update skip locked
        ))
        returning r.position
    ), moved as (
        -- Below the watermark there is more to do: the scan goes on from there.
        insert into pgbaton.rewind (lane_id, position)
        select _advance.lane_id, b.value from bound as b
        where b.value < b.watermark and exists (select from tidied)
    )
    select b.* into v_bound from bound as b;

    if v_bound.value >= v_bound.watermark + step then
        -- Once in the life of a lane; whoever is at it does it for all.
        update pgbaton.lane as l set has_watermark = true
        where l.ctid = any (array(
            select n.ctid from pgbaton.lane as n
            where n.id = _advance.lane_id and not n.has_watermark
            for update skip locked
        ));
        -- A bound that is not proven yet stays in doubt until a sweep after this transaction has seen it.
        insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
        values (
            'lane', _advance.lane_id, v_bound.value,
            -- This transaction may have begun before those that the horizon stands for.
            case when v_is_proven then v_horizon.below_xid else greatest(v_horizon.below_xid, pg_current_xact_id()) end,
            pgbaton._now()
        );
    end if;
end;
$$;
comment on function pgbaton._advance(integer, boolean, bigint, bigint) is
'Raises the watermark of a lane to its first claimable span, at most to the horizon, if that is a step at least. Drops
rewinds below that span; while it stands below the watermark, one rewind remains at or before it.';
