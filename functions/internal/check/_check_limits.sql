create or replace function pgbaton._check_limits(
    max_running integer, key_limit integer, rate_count integer, rate_interval interval, rate_burst integer,
    key_rate_count integer, key_rate_interval interval,
    key_rate_burst integer
)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if max_running not between 1 and 1000 or key_limit not between 1 and 1000 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('max_running of %s or key_limit of %s is out of range', max_running, key_limit),
            hint = 'Pass 1 to 1000, or null for no limit; pgbaton.pause_queue() keeps a queue from starting any.';
    end if;
    perform pgbaton._check_rate('rate', rate_count, rate_interval, rate_burst, 1000000);
    perform pgbaton._check_rate('key_rate', key_rate_count, key_rate_interval, key_rate_burst, 100);
end;
$$;
comment on function pgbaton._check_limits(integer, integer, integer, interval, integer, integer, interval, integer) is
'Raises 22023 for limits of a queue that cannot be.';
