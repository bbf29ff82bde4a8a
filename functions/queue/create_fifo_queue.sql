create or replace function pgbaton.create_fifo_queue(
    queue text,
    on_exhausted pgbaton.on_exhausted default 'block',
    max_attempts integer default 20,
    retry_delay interval default '1 second',
    retry_backoff boolean default true,
    retry_delay_max interval default '15 minutes',
    backoff_schedule interval[] default null,
    lease interval default '5 minutes',
    retention interval default '14 days',
    dead_letter_retention interval default null,
    max_lanes integer default 10000,
    description text default null
)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pgbaton.create_queue(
        queue, 'fifo', on_exhausted, max_attempts, retry_delay, retry_backoff, retry_delay_max, backoff_schedule,
        lease, retention, dead_letter_retention, max_lanes, description
    );
end;
$$;
comment on function pgbaton.create_fifo_queue(
    text, pgbaton.on_exhausted, integer, interval, boolean, interval, interval[], interval, interval,
    interval, integer, text
) is
'Makes a queue whose jobs run one at a time in enqueue order for each singleton_key: create_queue with policy
fifo.
Raises what create_queue raises.';
