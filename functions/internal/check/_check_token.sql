create or replace function pgbaton._check_token(lease_token bigint)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if lease_token is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'lease_token is null',
            hint = 'Pass the lease_token of the claim.';
    end if;
end;
$$;
comment on function pgbaton._check_token(bigint) is 'Raises 22004 for null.';
