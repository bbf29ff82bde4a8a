create or replace function pgbaton._check_rate(prefix text, count integer, per interval, burst integer, most integer)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if count is null and burst is not null then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'a burst without a rate',
            hint = format('Pass %s_burst only together with %s_count and %s_interval.', prefix, prefix, prefix);
    end if;
    if num_nonnulls(count, per) = 1 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('a part of the %s is missing', replace(prefix, '_', ' ')),
            hint = format('Pass %s_count and %s_interval together, or neither.', prefix, prefix);
    end if;
    if count not between 1 and most then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s_count of %s is out of range', prefix, count),
            hint = format('Pass 1 to %s, or null for no rate.', most);
    end if;
    if per <= '0' or per > '31 days' then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('%s_interval of %s is out of range', prefix, per),
            hint = 'Pass an interval above 0, at most 31 days.';
    end if;
    if burst not between 1 and count or count % burst <> 0 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('a %s of %s has no bursts of %s', replace(prefix, '_', ' '), count, burst),
            hint = format('Pass a number that divides %s_count, so that bursts fill the interval evenly.', prefix);
    end if;
end;
$$;
comment on function pgbaton._check_rate(text, integer, interval, integer, integer) is
'Raises 22023 for a rate, of which half is missing or which cannot be. prefix: how its parameters are called.';
