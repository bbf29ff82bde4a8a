create or replace function pgbaton._check_batch(
    queue pgbaton.queue, payloads jsonb[], singleton_keys text[]
)
returns void
language plpgsql immutable parallel safe
as $$
declare
    v_bad record;
begin
    if payloads is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'payloads is null',
            hint = 'Pass an array of JSON values, ''{}'' for none.';
    end if;
    perform pgbaton._check_flat('payloads', array_ndims(payloads));
    perform pgbaton._check_flat('singleton_keys', array_ndims(singleton_keys));
    perform pgbaton._check_same_length(
        'payloads', cardinality(payloads), 'singleton_keys', cardinality(singleton_keys)
    );
    if pg_column_size(payloads) > 4000 or array_position(payloads, null) is not null then
        select u.payload into v_bad from (select unnest(payloads) as payload) as u
        where u.payload is null or (pg_column_size(u.payload) >= 4000 and not pgbaton._fits(u.payload))
        limit 1;
        if found then
            perform pgbaton._check_payload(v_bad.payload);
        end if;
    end if;
    perform pgbaton._check_keys(queue, singleton_keys, cardinality(payloads));
end;
$$;
comment on function pgbaton._check_batch(pgbaton.queue, jsonb[], text[]) is
'Raises what _check_payload and _check_keys raise for any of them, 2202E for arrays of different lengths.';
