create or replace function pgbaton._check_move(action text, run_at timestamptz, priority integer, dry_run boolean)
returns timestamptz
language plpgsql volatile
as $$
begin
    if (run_at is not null and action <> 'reschedule') or (priority is not null and action <> 'prioritize') then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format(
                '%s is no argument of %s', case when run_at is null then 'priority' else 'run_at' end, action
            ),
            hint = 'run_at is for reschedule, priority for prioritize.';
    elsif action = 'prioritize' and priority is null and dry_run is not true then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'prioritize has no priority',
            hint = 'Pass a number; larger is claimed first.';
    elsif action = 'reschedule' then
        return greatest(pgbaton._check_run_at(run_at, null), pgbaton._now());
    end if;
    return null;
end;
$$;
comment on function pgbaton._check_move(text, timestamptz, integer, boolean) is
'To which time an action of act_on_jobs moves jobs, if it does. Raises 22004 when the priority is missing, but for a dry
run, or 22023 for an argument of another action.';
