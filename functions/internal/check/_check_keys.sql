create or replace function pgbaton._check_keys(
    queue pgbaton.queue, singleton_keys text[], jobs integer, row_nos bigint[] default null
)
returns void
language plpgsql immutable parallel safe
as $$
declare
    v_bad record;
begin
    if singleton_keys is null and queue.policy <> 'fifo' then
        return;
    end if;
    select k.key, k.ordinal into v_bad
    from (
        select
            unnest(coalesce(singleton_keys, array_fill(null::text, array[jobs]))) as key,
            generate_series(1, coalesce(cardinality(singleton_keys), jobs)) as ordinal
    ) as k
    where (k.key is null and queue.policy = 'fifo') or k.key = '' or octet_length(k.key) > 1024
    limit 1;
    if found then
        perform pgbaton._check_key(queue, v_bad.key, coalesce(row_nos[v_bad.ordinal], v_bad.ordinal));
    end if;
end;
$$;
comment on function pgbaton._check_keys(pgbaton.queue, text[], integer, bigint[]) is
'Raises what _check_key raises for any key of a batch of jobs; null for the array is no keys. row_nos: what messages
call the entries; default their places, from 1.';
