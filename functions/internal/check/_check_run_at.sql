create or replace function pgbaton._check_run_at(run_at timestamptz, delay interval)
returns timestamptz
language plpgsql volatile
as $$
begin
    if run_at is not null and delay is not null then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'both run_at and delay are given',
            hint = 'Pass one of them.';
    end if;
    if not isfinite(run_at) or run_at not between '0001-01-02' and '9999-12-31' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('run_at is %s', run_at),
            hint = 'Pass an instant of the years 1 to 9999, or null for at once.';
    end if;
    perform pgbaton._check_duration('delay', delay);
    return coalesce(run_at, pgbaton._after(pgbaton._now(), delay));
end;
$$;
comment on function pgbaton._check_run_at(timestamptz, interval) is
'When a job may run, from an instant or a delay; null is at once. Raises 22023 for both, for infinity,
a year that not every client can read, or a negative delay.';
