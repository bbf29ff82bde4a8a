create or replace function pgbaton.two_phase_backoff(
    fast_retries integer default 30,
    fast_min interval default '5 seconds',
    fast_max interval default '5 minutes',
    slow_retries integer default 30,
    slow_delay interval default '1 hour'
)
returns interval[]
language plpgsql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_min constant double precision := extract(epoch from fast_min);
    v_max constant double precision := extract(epoch from fast_max);
begin
    if num_nulls(fast_retries, fast_min, fast_max, slow_retries, slow_delay) > 0
        or fast_retries not between 0 and 10000 or slow_retries not between 0 and 10000
        or fast_retries + slow_retries = 0 or fast_min > fast_max
    then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'the two phases of retries are not valid',
            hint = 'Pass from 0 to 10000 retries for each phase, not 0 for both, and fast_min up to fast_max.';
    end if;
    perform pgbaton._check_duration('fast_min', fast_min);
    perform pgbaton._check_duration('fast_max', fast_max);
    perform pgbaton._check_duration('slow_delay', slow_delay);
    return array(
        select make_interval(secs => least(v_max, v_min * power(2::double precision, least(n.retry - 1, 62))))
        from generate_series(1, fast_retries) as n (retry)
        order by n.retry
    ) || array_fill(slow_delay, array[slow_retries]);
end;
$$;
comment on function pgbaton.two_phase_backoff(integer, interval, interval, integer, interval) is
'A backoff_schedule of two phases: fast_retries waits that double from fast_min up to fast_max, then
slow_retries waits of slow_delay. The defaults suit webhooks. Raises 22023.';
