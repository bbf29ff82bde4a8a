create or replace function pgbaton.kv_delete(key text[])
returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pgbaton._require_all_queues('operate');
    delete from pgbaton.kv as k where k.key = kv_delete.key;
    if found then
        perform pgbaton._audit('kv_delete', null, null, null, key::text);
        return true;
    end if;
    return false;
end;
$$;
comment on function pgbaton.kv_delete(text[]) is
'Removes what is stored under a key path and says whether there was something.';
