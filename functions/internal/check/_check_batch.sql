create or replace function pgbaton._check_batch(
    queue pgbaton.queue, payloads jsonb[], singleton_keys text[], row_nos bigint[] default null
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
    select u.payload, u.ordinal into v_bad
    from (select unnest(payloads) as payload, generate_series(1, cardinality(payloads)) as ordinal) as u
    where u.payload is null or not (
        octet_length(u.payload::text) < 4000 and pg_column_size(u.payload) < 4000 or pgbaton._fits(u.payload)
    )
    limit 1;
    if found then
        perform pgbaton._check_payload(
            v_bad.payload, row_no => coalesce(row_nos[v_bad.ordinal], v_bad.ordinal)
        );
    end if;
    perform pgbaton._check_keys(queue, singleton_keys, cardinality(payloads), row_nos);
end;
$$;
comment on function pgbaton._check_batch(pgbaton.queue, jsonb[], text[], bigint[]) is
'Raises what _check_payload and _check_keys raise for any of them, 2202E for arrays of different lengths. row_nos: what
messages call the entries; default their places, from 1.';
