create or replace function pgbaton._note_ahead(at timestamptz)
returns void
language plpgsql volatile
as $$
declare
    v_marks record;
begin
    select
        w.due_from, w.leases_from, w.release_horizon, w.released_from, coalesce(h.value, 0) as horizon,
        coalesce(h.recorded_at < at - interval '0.5 seconds', true) as is_horizon_old
    into v_marks
    from pgbaton._upkeep_bounds() as w
    left join (
        select n.value, n.recorded_at from pgbaton.watermark as n
        where n.kind = 'horizon' and n.lane_id = 0
        order by n.kind desc, n.lane_id desc, n.value desc limit 1
    ) as h on true;
    perform pgbaton._raise_release_floor(v_marks.released_from);
    perform pgbaton._note_horizon(v_marks.horizon, v_marks.is_horizon_old, v_marks.release_horizon, at);
    perform pg_current_xact_id();  -- this transaction will write
    -- Up to the first that is due now, since none of it has been handled.
    perform pgbaton._note_times(v_marks.due_from, true, v_marks.leases_from, true, at, false);
end;
$$;
comment on function pgbaton._note_ahead(timestamptz) is
'The notes of _tend, for a call that writes before it claims: they stand for the transactions older than this one, which
can be told only as long as it has no transaction id.';
