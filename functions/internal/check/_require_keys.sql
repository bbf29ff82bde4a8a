create or replace function pgbaton._require_keys(queue pgbaton.queue, key_limit integer, key_rate_count integer)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if key_limit is not null and queue.policy <> 'singleton' then
        raise exception using
            errcode = 'PB003',
            message = format('queue "%s" has the policy %s, which has no key_limit', queue.name, queue.policy),
            hint = 'It is for queues of policy singleton: of each key one job runs at a time, or key_limit of them.';
    end if;
    if key_rate_count is not null and queue.policy not in ('fifo', 'singleton') then
        raise exception using
            errcode = 'PB003',
            message = format('queue "%s" has the policy %s, which has no rate of each key', queue.name, queue.policy),
            hint = 'It is for queues of policy fifo or singleton, whose keys run their jobs one after the other.';
    end if;
end;
$$;
comment on function pgbaton._require_keys(pgbaton.queue, integer, integer) is
'Raises PB003 for limits of each key that the policy of a queue does not know.';
