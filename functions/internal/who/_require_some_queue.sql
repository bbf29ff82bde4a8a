create or replace function pgbaton._require_some_queue(action text)
returns void
language plpgsql stable
as $$
begin
    if pgbaton._allowed_queues(action) = '{}' then
        raise exception using
            errcode = 'PB009',
            message = format('role %s may not %s on any queue', pgbaton._actor(), action),
            hint = 'A grant_queue() or the membership in a role of pgbaton counts, of who calls or logged in, not of '
                'the owner of a function that calls.';
    end if;
end;
$$;
comment on function pgbaton._require_some_queue(text) is
'For calls that are about no queue: raises PB009 when the caller may do that on none.';
