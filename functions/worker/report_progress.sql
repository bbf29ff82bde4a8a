create or replace function pgbaton.report_progress(
    job_id bigint,
    lease_token bigint,
    progress integer default null,
    current_stage text default null,
    events_count integer default null
)
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_span pgbaton.span;
begin
    perform pgbaton._check_token(lease_token);
    if progress not between 0 and 100 or events_count < 0 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('progress is %s, events_count is %s', progress, events_count),
            hint = 'progress is a percentage from 0 to 100, events_count is not negative.';
    end if;
    v_span := pgbaton._hold(job_id, lease_token);
    if v_span.lo is null then
        perform pgbaton._refuse(job_id, 'report_progress', true, lease_token);
    end if;

    insert into pgbaton.job_report as r (job_id, day, progress, current_stage, events_count)
    values (job_id, v_span.day, progress, pgbaton._shortened(current_stage, 4096), events_count)
    on conflict on constraint job_report_pkey do update
    set progress = coalesce(excluded.progress, r.progress),
        current_stage = coalesce(excluded.current_stage, r.current_stage),
        events_count = coalesce(excluded.events_count, r.events_count);
    return case when v_span.state = 'cancelling' then 'cancel_requested' else 'ok' end;
end;
$$;
comment on function pgbaton.report_progress(bigint, bigint, integer, text, integer) is
'Notes how far a job is: progress in percent, current_stage (what it is doing, cut at 4,096 characters), and
events_count. A null leaves a value as it is. Returns ok, or cancel_requested when somebody cancelled the job: stop and
acknowledge.
Raises PB002, PB003 (not running), PB004 (lease lost), 22004 or 22023.';
