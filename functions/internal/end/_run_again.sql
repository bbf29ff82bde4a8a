create or replace function pgbaton._run_again(action text, queue text, job_id bigint, extra_attempts integer)
returns void
language plpgsql volatile
as $$
begin
    if action = 'requeue' then
        perform pgbaton.requeue_dead_job(job_id);
    else
        perform pgbaton.retry_job(queue, job_id, coalesce(extra_attempts, 1));
    end if;
end;
$$;
comment on function pgbaton._run_again(text, text, bigint, integer) is 'Retries a failed job in place, or requeues it.';
