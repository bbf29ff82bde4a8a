create or replace function pgbaton._health_of_queues(at timestamptz, queue_ids integer[])
returns table (check_name text, is_warn boolean, is_bad boolean, detail text)
language plpgsql stable
as $$
declare
    v_stale bigint;
    v_swept timestamptz;
    v_failing record;
    v_clock record;
    v_failed record;
    v_strays boolean;
    v_has_tomorrow boolean;
    v_overdue bigint;
    v_broken record;
    -- Asked of each index: dead letters may be all there is in the table, and many.
    v_has_work constant boolean := exists (select from pgbaton.claimable_span)
        or exists (select from pgbaton.held_span)
        or exists (select from only pgbaton.span as s where s.state = 'waiting')
        or exists (
            select from only pgbaton.span as s
            where not s.ready and s.state in ('pending', 'retry', 'unknown_retry', 'failed') and s.run_at is not null
        );
begin
    select count(*) into v_stale from pgbaton.worker as w
    where w.heartbeat_at < at - interval '2 minutes' and exists (
        select from pgbaton.held_span as s
        where s.worker_id = w.worker_id
            and (w.queue_ids = '{}' or s.queue_id = any (w.queue_ids))
            and (_health_of_queues.queue_ids is null or s.queue_id = any (_health_of_queues.queue_ids))
    );
    check_name := 'stale workers';
    is_warn := v_stale > 0;
    is_bad := false;
    detail := case
        when v_stale = 0 then 'Each worker that holds jobs sends heartbeats, if it ever did.'
        else format(
            'Workers that hold jobs and sent no heartbeat for two minutes: %s. Their jobs come back when the leases '
            'end; pgbaton.mark_worker_unresponsive() takes them at once.', v_stale
        )
    end;
    return next;

    select coalesce(sum(s.hi - s.lo + 1), 0) into v_overdue from pgbaton.held_span as s
    where s.state in ('active', 'cancelling') and s.lease_until < at - interval '1 minute'
        and (_health_of_queues.queue_ids is null or s.queue_id = any (_health_of_queues.queue_ids));
    check_name := 'ended leases';
    is_warn := v_overdue > 0;
    is_bad := false;
    detail := case
        when v_overdue = 0 then 'No lease ended that nobody took back.'
        else format(
            'Jobs that are with workers although their leases ended a minute ago: %s. A claim or '
            'pgbaton.run_maintenance() takes them back.', v_overdue
        )
    end;
    return next;

    select max(w.recorded_at) into v_swept from pgbaton.watermark as w where w.kind = 'sweep' and w.lane_id = 0;
    v_failing := pgbaton._failing_upkeep();
    check_name := 'maintenance';
    is_warn := v_failing.steps > 0 or coalesce(v_swept < at - interval '1 minute', true)
        and v_has_work;
    is_bad := coalesce(v_failing.since < at - interval '1 hour', false)
        or coalesce(v_swept < at - interval '1 hour', false)
        and v_has_work;
    detail := case
            when v_swept is null then 'There was no upkeep yet.' else format('The last upkeep was at %s.', v_swept)
        end || case
            when v_failing.steps > 0 then format(
                ' Steps of it that fail: %s, since %s: %s. The others are done.',
                v_failing.steps, v_failing.since, v_failing.names
            )
            when is_warn then ' Start a worker, or have pgbaton.run_maintenance() called every minute.'
            else ''
        end;
    return next;

    select w.recorded_at as noticed_at, pgbaton._since(w.value) as shown into v_clock
    from pgbaton.watermark as w
    where w.kind not in ('lane', 'horizon') and (
        w.recorded_at > at + interval '1 minute'
        or w.kind = 'clock' and w.recorded_at > at - interval '1 day'
    )
    order by w.recorded_at desc, w.value desc
    limit 1;
    check_name := 'clock';
    is_warn := v_clock.shown is not null;
    is_bad := false;
    detail := case
        when v_clock.shown is null then 'It was not set back within a day.'
        when v_clock.noticed_at > at then format(
            'It was set back from %s. Leases, retries and schedules of that time wait for it until '
            'pgbaton.run_maintenance() mends them.', v_clock.noticed_at
        )
        else format(
            'It was set back from %s, which was noticed at %s. Leases, retries and schedules of that time were mended; '
            'see to it that the clock of the server does not jump.', v_clock.shown, v_clock.noticed_at
        )
    end;
    return next;

    v_strays := exists (select from pgbaton.job_default) or exists (select from pgbaton.job_history_default);
    check_name := 'partitions';
    v_has_tomorrow := to_regclass('pgbaton.job_' || to_char(pgbaton._day(at + interval '1 day'), 'YYYYMMDD'))
        is not null;
    is_warn := (v_strays or not v_has_tomorrow and v_swept is not null) and not pgbaton._is_extension();
    is_bad := false;
    detail := case
        when pgbaton._is_extension() then 'All days share one partition, since pgbaton is an extension here.'
        when v_strays then 'Some days have no partition: nothing is lost, but they are not dropped as a whole. '
            'Call run_maintenance() daily.'
        when is_warn then 'Tomorrow has no partition yet. Call run_maintenance() daily; whatever keeps it from making '
            'one stands under maintenance.'
        else 'Every day has its partition.'
    end;
    return next;

    select count(*) as jobs, count(*) filter (where s.held_key is not null) as keys into v_failed
    from pgbaton.queue as q
    cross join lateral (
        select n.held_key from only pgbaton.span as n
        where n.queue_id = q.id and n.state = 'failed' and not n.ready and n.run_at is null
        limit 10000
    ) as s
    where _health_of_queues.queue_ids is null or q.id = any (_health_of_queues.queue_ids);
    check_name := 'failed jobs';
    is_warn := v_failed.jobs > 0;
    is_bad := v_failed.keys > 0;
    detail := case
        when v_failed.jobs = 0 then 'No job has failed.'
        else format(
            'Failed jobs: %s. Keys that they hold up: %s. (Of a queue, 10000 are counted.) pgbaton.blocked_keys() and '
            'list_dead_jobs() show them; retry_job(), skip_job() and purge_dead_jobs() clear them.',
            v_failed.jobs, v_failed.keys
        )
    end;
    return next;

    select count(*) as jobs, max(a.at) as last_at,
        (array_agg(a.job_id order by a.at desc))[1:5] as job_ids
    into v_broken
    from (select n.* from pgbaton.audit as n order by n.id desc limit 10000) as a
    where a.action = 'set_aside' and a.at > _health_of_queues.at - interval '1 day' and (
        _health_of_queues.queue_ids is null
        or a.queue in (select q.name from pgbaton.queue as q where q.id = any (_health_of_queues.queue_ids))
    );
    check_name := 'broken keys';
    is_warn := v_broken.jobs > 0;
    is_bad := false;
    detail := case
        when v_broken.jobs = 0 then 'No key had several jobs at once within a day.'
        else format(
            'Keys had several jobs at once, which is a fault of pgbaton or of a change made by hand. Jobs that claims '
            'set aside within a day, and which wait their turn again: %s, last at %s (jobs %s). pgbaton.audit has them '
            'all; please report it.',
            v_broken.jobs, v_broken.last_at, array_to_string(v_broken.job_ids, ', ')
        )
    end;
    return next;
end;
$$;
comment on function pgbaton._health_of_queues(timestamptz, integer[]) is
'The checks of health() that look at the queues; null is all of them.';
