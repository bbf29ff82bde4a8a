create or replace function pgbaton._channel(worker_id text)
returns text
language sql stable
as $$
    select 'pgbaton_' || left(
        encode(sha256(convert_to(format('%L %L %L', c.secret, pgbaton._actor(), worker_id), 'UTF8')), 'hex'), 32
    )
    from pgbaton.channel_secret as c
$$;
comment on function pgbaton._channel(text) is
'The channel on which a worker of the calling role is notified: the same each time, and no other role can tell it.';
