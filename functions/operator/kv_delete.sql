create or replace function pgbaton.kv_delete(key text[])
returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_allowed constant integer[] := pgbaton._allowed_queues('operate');
begin
    perform pgbaton._check_flat('key', array_ndims(key));
    delete from pgbaton.kv as k
    where k.key = kv_delete.key[:] and (v_allowed is null or k.queue_id = any (v_allowed));
    if found then
        perform pgbaton._audit('kv_delete', null, null, null, key[:]::text);
        return true;
    end if;
    return false;
end;
$$;
comment on function pgbaton.kv_delete(text[]) is
'Removes what is stored under a key path for the queues on which the caller may operate, and says whether there was
something. Raises 2202E.';
