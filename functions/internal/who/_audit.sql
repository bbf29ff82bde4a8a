create or replace function pgbaton._audit(
    action text, queue text, job_id bigint, singleton_key text, reason text
)
returns void
language sql volatile
as $$
    insert into pgbaton.audit (at, actor, action, queue, job_id, singleton_key, reason)
    values (pgbaton._now(), pgbaton._actor(), action, queue, job_id, singleton_key, pgbaton._shortened(reason, 4096))
$$;
comment on function pgbaton._audit(text, text, bigint, text, text) is
'Notes an operator action.';
