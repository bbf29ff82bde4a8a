create or replace function pgbaton._check_key(queue pgbaton.queue, singleton_key text, row_no bigint default null)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if queue.policy = 'fifo' and coalesce(singleton_key, '') = '' then
        raise exception using
            errcode = 'PB005',
            message = format('FIFO queues require a singleton_key (queue "%s"%s)', queue.name, ', row ' || row_no),
            hint = 'Pass the entity whose jobs must stay in order, for example an order number.';
    end if;
    if singleton_key = '' or octet_length(singleton_key) > 1024 then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('singleton_key%s is empty or longer than 1024 bytes', ' ' || row_no),
            hint = 'Pass null for an unordered job, or a shorter key such as a digest.';
    end if;
end;
$$;
comment on function pgbaton._check_key(pgbaton.queue, text, bigint) is
'Raises PB005 for a FIFO job without a key, 22023 for an empty key or one above 1024 bytes. row_no: of a list, which.';
