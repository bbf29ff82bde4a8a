create or replace function pgbaton._check_settings(queue pgbaton.queue)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if queue.name is null or queue.name in ('', '.', '..') or octet_length(queue.name) > 63
        or queue.name ~ E'[\\x01-\\x1f\\x7f]'
    then
        raise exception using
            errcode = case when queue.name is null then 'null_value_not_allowed' else 'invalid_parameter_value' end,
            message = format('queue name %s is not valid', coalesce(quote_literal(queue.name), 'null')),
            hint = 'Use 1 to 63 bytes without control characters, other than . and .. (no browser asks for such a '
                'path).';
    end if;
    if queue.policy is null or queue.on_exhausted is null or queue.retry_delay is null or queue.retry_backoff is null
        or queue.retry_delay_max is null or queue.lease is null or queue.retention is null or queue.max_lanes is null
    then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = format('a setting of queue "%s" is null', queue.name),
            hint = 'Only max_attempts, backoff_schedule, dead_letter_retention and description may be null.';
    end if;
    if queue.max_lanes < 1 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('max_lanes %s is below 1', queue.max_lanes),
            hint = 'Pass at least 1.';
    end if;
    perform pgbaton._check_max_attempts(queue.max_attempts, 'unlimited');
    if octet_length(queue.description) > 4096 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('description of queue "%s" is longer than 4096 bytes', queue.name),
            hint = 'Say in a line or two what the queue is for.';
    end if;
    perform pgbaton._check_duration('retry_delay', queue.retry_delay);
    perform pgbaton._check_duration('retry_delay_max', queue.retry_delay_max);
    perform pgbaton._check_duration('lease', queue.lease, false);
    perform pgbaton._check_duration('retention', queue.retention);
    perform pgbaton._check_duration('dead_letter_retention', queue.dead_letter_retention);
    perform pgbaton._check_schedule(queue.backoff_schedule);
end;
$$;
comment on function pgbaton._check_settings(pgbaton.queue) is
'Raises 22004 or 22023 for a queue with a setting that cannot be.';
