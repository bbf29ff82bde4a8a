create or replace function pgbaton._tend(at timestamptz)
returns void
language plpgsql volatile
as $$
declare
    v_began_before constant boolean := pg_current_xact_id_if_assigned() is not null;
    v_due_from timestamptz;
    v_leases_from timestamptz;
    v_has_released boolean;
    v_has_due boolean;
    v_has_ended boolean;
    v_horizon bigint;
    v_is_horizon_old boolean;
    v_release_horizon bigint;
    v_released_from bigint;
    v_is_sweep_due boolean;
    v_failed jsonb := jsonb '{}';
begin
    perform set_config('pgbaton.tended_at', pgbaton._micros(at)::text, false);
    -- One statement: starting two costs more than what they read.
    select
        w.due_from, w.leases_from, coalesce(h.value, 0), coalesce(h.recorded_at < at - interval '0.5 seconds', true),
        w.release_horizon,
        w.released_from, w.swept_at not between
            pgbaton._micros(at - interval '10 seconds') and pgbaton._micros(at + interval '10 seconds'),
        exists (select from pgbaton.baton_release as r where r.id >= w.released_from offset 0),
        exists (
            select from only pgbaton.span as s
            where not s.ready and s.state in ('pending', 'retry', 'unknown_retry')
                and s.run_at >= w.due_from and s.run_at <= at
            offset 0
        ),
        exists (
            select from pgbaton.held_span as s
            where s.state in ('active', 'cancelling')
                and s.lease_until >= w.leases_from and s.lease_until < at
            offset 0
        )
    into v_due_from, v_leases_from, v_horizon, v_is_horizon_old, v_release_horizon, v_released_from, v_is_sweep_due,
        v_has_released, v_has_due, v_has_ended
    from pgbaton._upkeep_bounds() as w
    left join (
        select n.value, n.recorded_at from pgbaton.watermark as n
        where n.kind = 'horizon' and n.lane_id = 0
        order by n.kind desc, n.lane_id desc, n.value desc limit 1
    ) as h on true;
    perform pgbaton._raise_release_floor(v_released_from);
    perform pgbaton._note_horizon(v_horizon, v_is_horizon_old, v_release_horizon, at);

    if v_has_due then
        v_failed := coalesce(pgbaton._try_spans('due jobs', at, v_due_from, 200) -> 'failed', '{}');
    end if;
    if v_has_released or v_has_due then
        v_failed := v_failed || coalesce(pgbaton._try_released(at, v_released_from) -> 'failed', '{}');
    end if;
    if v_release_horizon >= v_released_from + 16 then
        perform pgbaton._note_released(v_released_from, at);
    end if;
    if v_has_ended then
        v_failed := v_failed || coalesce(
            pgbaton._try_spans('ended leases', at, v_leases_from, 100) -> 'failed', '{}'
        );
    end if;
    if v_is_sweep_due then
        perform pgbaton._sweep();
    end if;
    if v_failed <> '{}' then
        perform pgbaton._try_step('note of failures', at, v_failed::text);
    end if;
    perform pgbaton._note_times(v_due_from, v_has_due, v_leases_from, v_has_ended, at, v_began_before);
end;
$$;
comment on function pgbaton._tend(timestamptz) is
'The bounded upkeep of claims: passes on released batons, makes due jobs claimable, recovers ended leases; every
ten seconds the thorough upkeep of _sweep. A session that claims without a pause does it ten times a second.';
