create or replace function pgbaton._do_step(
    step text, at timestamptz, subject text, since timestamptz, max_spans integer
)
returns jsonb
language plpgsql volatile
as $$
begin
    case step
        when 'log of blocked keys' then perform pgbaton._log_blocks(at);
        when 'dedup ids' then perform pgbaton._forget_dedup_ids(at);
        when 'rows staged by Spark' then perform pgbaton.spark_gc();
        when 'sleepers' then perform pgbaton._tidy_sleepers();
        -- Each start of a worker may bring a new name.
        when 'workers' then delete from pgbaton.worker as w where w.heartbeat_at < at - interval '1 day';
        when 'lease losses' then perform pgbaton._merge_lease_losses();
        when 'keys' then return jsonb_build_object('keys_healed', pgbaton._heal_keys(10000));
        when 'rates of keys' then perform pgbaton._tidy_key_starts(at);
        when 'sweep' then
            return pgbaton._sweep(not pgbaton._was_maintained(date_bin('10 minutes', at, 'epoch'), at));
        when 'times ahead' then perform pgbaton._forget_times_ahead(at);
        when 'due jobs' then
            return jsonb_build_object('made_due', pgbaton._make_due(since, at, max_spans, subject::bigint));
        when 'released keys' then perform pgbaton._pass_released(pgbaton._released_from(subject::xid8));
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
        when 'dead letters' then
            return jsonb_build_object('dead_letters_expired', pgbaton._expire_dead_letters(at));
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
        when 'partitions' then return jsonb_build_object('partitions_added', pgbaton._keep_partitions());
        when 'days' then return jsonb_build_object('days_dropped', pgbaton._keep_days(at));
        when 'inbox' then perform pgbaton._empty_inbox();
        when 'note of failures' then perform pgbaton._note_failures(at, subject::jsonb);
        when 'failures that are over' then perform pgbaton._forget_failures(at, subject::jsonb);
    end case;
    return jsonb '{}';
end;
$$;
comment on function pgbaton._do_step(text, timestamptz, text, timestamptz, integer) is
'One step of the upkeep by its name; returns what it counts for the answer of run_maintenance. subject, since and
max_spans are what some steps need. Called by _try_step alone.';
