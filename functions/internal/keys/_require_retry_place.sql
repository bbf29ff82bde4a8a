create or replace function pgbaton._require_retry_place(span pgbaton.span)
returns void
language plpgsql volatile
as $$
declare
    v_other bigint;
begin
    perform pg_advisory_xact_lock(pgbaton._lock_class(), pgbaton._stripe(span.queue_id, span.singleton_key));
    select s.lo into v_other from only pgbaton.span as s
    where s.queue_id = span.queue_id and s.singleton_key = span.singleton_key
        and s.slot = case when span.policy = 'exclusive' then 0 else -2 end;
    if v_other is not null then
        raise exception using
            errcode = 'PB006',
            message = format('job %s of the same key stands where job %s would be retried', v_other, span.lo),
            hint = format('The queue is %s. Let that job end first.', span.policy);
    end if;
end;
$$;
comment on function pgbaton._require_retry_place(pgbaton.span) is
'Raises PB006 when the policy (stately, exclusive) leaves no place for a failed job to be retried. Takes the
producers'' lock of the key until the transaction ends.';
