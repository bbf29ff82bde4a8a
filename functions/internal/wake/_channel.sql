create or replace function pgbaton._channel(worker_id text)
returns text
language plpgsql volatile
as $$
declare
    v_secret text;
begin
    select c.secret into v_secret from pgbaton.channel_secret as c where c.is_only;
    if not found then
        insert into pgbaton.channel_secret (secret) values (gen_random_uuid()::text || gen_random_uuid()::text)
        on conflict on constraint channel_secret_pkey do nothing;
        select c.secret into v_secret from pgbaton.channel_secret as c where c.is_only;
    end if;
    return 'pgbaton_' || left(
        encode(sha256(convert_to(format('%L %L %L', v_secret, pgbaton._actor(), worker_id), 'UTF8')), 'hex'), 32
    );
end;
$$;
comment on function pgbaton._channel(text) is
'The channel on which a worker of the calling role is notified: the same each time, and no other role can tell it.';
