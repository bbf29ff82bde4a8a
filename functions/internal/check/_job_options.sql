create or replace function pgbaton._job_options(
    max_attempts integer,
    retry_delay interval,
    retry_backoff boolean,
    backoff_schedule interval[],
    keys_if_undelivered jsonb,
    headers jsonb
)
returns pgbaton.job_options
language plpgsql immutable parallel safe
as $$
declare
    v_headers constant jsonb := nullif(headers, '{}');
begin
    if num_nonnulls(
        max_attempts, retry_delay, retry_backoff, backoff_schedule, keys_if_undelivered, v_headers
    ) = 0 then
        return null;
    end if;
    if max_attempts is not null then
        perform pgbaton._check_max_attempts(max_attempts, 'the queue''s default');
    end if;
    perform pgbaton._check_duration('retry_delay', retry_delay);
    perform pgbaton._check_schedule(backoff_schedule);
    perform pgbaton._check_key_paths(keys_if_undelivered);
    perform pgbaton._check_headers(v_headers);
    -- A schedule of n waits means n retries, unless the caller says otherwise.
    return row(
        coalesce(max_attempts, cardinality(backoff_schedule) + 1),
        retry_delay, retry_backoff, backoff_schedule[:], keys_if_undelivered, v_headers
    )::pgbaton.job_options;
end;
$$;
comment on function pgbaton._job_options(integer, interval, boolean, interval[], jsonb, jsonb) is
'Options of a job, null when it has none of its own. Raises 22023 for a value out of range, PB011 for large
headers.';
