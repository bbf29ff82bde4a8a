create or replace function pgbaton._retry_delay(
    attempt integer, options pgbaton.job_options, queue pgbaton.queue
)
returns interval
language plpgsql volatile
as $$
declare
    v_schedule constant interval[] := coalesce(options.backoff_schedule, queue.backoff_schedule);
    v_delay constant interval := coalesce(options.retry_delay, queue.retry_delay);
begin
    -- A job that sets its own delay or backoff leaves the queue's schedule.
    if v_schedule is not null and (
        options.backoff_schedule is not null
        or (options.retry_delay is null and options.retry_backoff is null)
    ) then
        return v_schedule[least(attempt, cardinality(v_schedule))];
    end if;
    if not coalesce(options.retry_backoff, queue.retry_backoff) then
        return v_delay;
    end if;
    return make_interval(secs => (0.5 + random() / 2) * least(
        extract(epoch from queue.retry_delay_max)::double precision,
        extract(epoch from v_delay)::double precision * power(2::double precision, least(attempt - 1, 62))
    ));
end;
$$;
comment on function pgbaton._retry_delay(integer, pgbaton.job_options, pgbaton.queue) is
'Wait after the attempt-th failed attempt: the schedule if there is one, else exponential with equal jitter
(uniform between half of the capped power and all of it: "Exponential Backoff And Jitter", AWS Architecture Blog,
2015), else constant. Not full jitter: with that some keys are through their attempts long before the others.';
