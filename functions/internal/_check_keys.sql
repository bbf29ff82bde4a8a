create or replace function pgbaton._check_keys(queue pgbaton.queue, singleton_keys text[], jobs integer)
returns void
language plpgsql immutable parallel safe
as $$
declare
    v_bad record;
begin
    if singleton_keys is null and queue.policy <> 'fifo' then
        return;
    end if;
    select k.key into v_bad
    from (select unnest(coalesce(singleton_keys, array_fill(null::text, array[jobs]))) as key) as k
    where (k.key is null and queue.policy = 'fifo') or k.key = '' or octet_length(k.key) > 1024
    limit 1;
    if found then
        perform pgbaton._check_key(queue, v_bad.key);
    end if;
end;
$$;
comment on function pgbaton._check_keys(pgbaton.queue, text[], integer) is
'Raises what _check_key raises for any key of a batch of jobs; null for the array is no keys.';
