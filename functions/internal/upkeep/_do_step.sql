create or replace function pgbaton._do_step(
    step text, at timestamptz, subject text, since timestamptz, max_spans integer
)
returns jsonb
language plpgsql volatile
as $$
begin
    case step
        when 'sleepers' then perform pgbaton._tidy_sleepers();
        when 'sweep' then
            return pgbaton._sweep(not pgbaton._was_maintained(date_bin('10 minutes', at, 'epoch'), at));
        when 'times ahead' then perform pgbaton._forget_times_ahead(at);
        when 'due jobs' then
            return jsonb_build_object('made_due', pgbaton._make_due(since, at, max_spans, subject::bigint));
        when 'released keys' then perform pgbaton._pass_released(subject::bigint);
        when 'released key' then perform pgbaton._pass_released(subject::bigint, subject::bigint);
        when 'putting off a key' then
            update pgbaton.baton_release as r set id = -r.id where r.id = subject::bigint and r.id > 0;
        when 'rewinds' then perform pgbaton._gather_rewinds(subject::xid8);
        when 'ended leases' then
            return jsonb_build_object('recovered', pgbaton._recover(
                pgbaton._ended_leases(since, at, max_spans, null, subject::bigint), 'the lease ended'
            ));
        when 'putting off' then perform pgbaton._put_off(subject::bigint, at);
        when 'lanes' then
            return jsonb_build_object('lanes_rewound', pgbaton._recheck_watermarks(subject::xid8));
        when 'watermarks' then perform pgbaton._drop_watermarks(at, pg_snapshot_xmin(pg_current_snapshot()));
        when 'clock' then return pgbaton._mend_clock(at);
        when 'schedules' then return pgbaton._run_schedules(at);
        when 'schedule' then return jsonb_build_object('scheduled', pgbaton._run_schedule(subject, at));
        when 'error of a schedule' then perform pgbaton._note_schedule_error(subject::jsonb);
        when 'times of a schedule' then
            update pgbaton.schedule as s
            set next_run_at = least(s.next_run_at, pgbaton._cron_next(s.cron, s.time_zone, at)),
                last_run_at = least(s.last_run_at, at)
            where s.name = subject;
        when 'note of the time' then
            insert into pgbaton.watermark (kind, lane_id, value, below_xid, recorded_at)
            values ('maintenance', 0, pgbaton._micros(at), pg_current_xact_id(), at);
        when 'inbox' then perform pgbaton._empty_inbox();
        when 'note of failures' then perform pgbaton._note_failures(at, subject::jsonb);
        when 'failures that are over' then perform pgbaton._forget_failures(at, subject::jsonb);
        when 'failures of late' then return jsonb_build_object('names', array(
            select u.name from pgbaton.upkeep_failure as u
            where u.name ~ ' "' and u.failed_at between at - interval '9 minutes' and at
        ));
        else
            -- Row by row: _try_rows asks for them first.
            return case when subject is null then jsonb_build_object('rows', pgbaton._rows_of_step(step, at))
                else pgbaton._do_rows(step, at, array(select jsonb_array_elements_text(subject::jsonb))) end;
    end case;
    return jsonb '{}';
end;
$$;
comment on function pgbaton._do_step(text, timestamptz, text, timestamptz, integer) is
'One step of the upkeep by its name; returns what it counts for the answer of run_maintenance. subject, since and
max_spans are what some steps need. Called by _try_step alone.';
