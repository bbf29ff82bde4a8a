create or replace function pgbaton._refuse_queued(queue pgbaton.queue, singleton_key text, job_id bigint)
returns void
language plpgsql volatile
as $$
begin
    raise exception using
        errcode = 'PB006',
        message = format(
            'queue "%s" (%s) has a job of key "%s" already: job %s', queue.name, queue.policy,
            coalesce(singleton_key, ''), job_id
        ),
        hint = 'Pass on_duplicate => ''skip'' to get that job''s id instead, or enqueue_jobs() to pass such jobs over.';
end;
$$;
comment on function pgbaton._refuse_queued(pgbaton.queue, text, bigint) is
'Raises PB006: the policy of the queue allows no further job of the key.';
