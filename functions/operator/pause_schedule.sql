create or replace function pgbaton.pause_schedule(name text, paused boolean default true)
returns timestamptz
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_next_run_at timestamptz;
begin
    perform pgbaton._require_all_queues('operate');
    -- What it missed while it was paused is not made up for; what is due of one that was not is.
    update pgbaton.schedule as s
    set is_paused = coalesce(paused, true),
        next_run_at = case
            when s.is_paused then pgbaton._cron_next(s.cron, s.time_zone, pgbaton._now())
            else s.next_run_at
        end
    where s.name = pause_schedule.name
    returning s.next_run_at into v_next_run_at;
    if not found then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('schedule "%s" does not exist', name),
            hint = 'pgbaton.list_schedules() shows those there are.';
    end if;
    perform pgbaton._audit(
        'pause_schedule', null, null, null, name || case when paused is false then ' goes on' else '' end
    );
    return case when paused is false then v_next_run_at end;
end;
$$;
comment on function pgbaton.pause_schedule(text, boolean) is
'Pauses a schedule, or lets it go on with paused => false, and returns when it runs next, null while it is paused.
Times that it missed meanwhile are not made up for. Raises 22023 for an unknown schedule.';
