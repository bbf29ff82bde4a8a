create or replace function pgbaton._note_ahead(at timestamptz)
returns void
language plpgsql volatile
as $$
declare
    v_marks record;
begin
    select
        pgbaton._since(coalesce((
            select w.value from pgbaton.watermark as w
            where w.kind = 'due' and w.lane_id = 0
            order by w.kind desc, w.lane_id desc, w.value desc limit 1
        ), 0)) as due_from,
        pgbaton._since(coalesce((
            select w.value from pgbaton.watermark as w
            where w.kind = 'lease' and w.lane_id = 0
            order by w.kind desc, w.lane_id desc, w.value desc limit 1
        ), 0)) as leases_from,
        coalesce(h.value, 0) as horizon, coalesce(h.recorded_at < at - interval '0.5 seconds', true) as is_horizon_old,
        coalesce((
            select w.value from pgbaton.watermark as w
            where w.kind = 'release_horizon' and w.lane_id = 0
            order by w.kind desc, w.lane_id desc, w.value desc limit 1
        ), 0) as release_horizon
    into v_marks
    from (select 1) as one
    left join (
        select w.value, w.recorded_at from pgbaton.watermark as w
        where w.kind = 'horizon' and w.lane_id = 0
        order by w.kind desc, w.lane_id desc, w.value desc limit 1
    ) as h on true;
    perform pgbaton._note_horizon(v_marks.horizon, v_marks.is_horizon_old, v_marks.release_horizon, at);
    perform pg_current_xact_id();  -- this transaction will write
    -- Up to the first that is due now, since none of it has been handled.
    perform pgbaton._note_times(v_marks.due_from, true, v_marks.leases_from, true, at, false);
end;
$$;
comment on function pgbaton._note_ahead(timestamptz) is
'The notes of _tend, for a call that writes before it claims: they stand for the transactions older than this one, which
can be told only as long as it has no transaction id.';
