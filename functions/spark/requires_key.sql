create or replace function pgbaton.requires_key(queue text)
returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    return (pgbaton._require_queue(queue)).policy = 'fifo';
end;
$$;
comment on function pgbaton.requires_key(text) is
'Whether every job of the queue needs a singleton_key, so that a producer of many can find out before it
begins.
Raises PB001 (unknown queue) or 22004.';
