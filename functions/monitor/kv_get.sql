create or replace function pgbaton.kv_get(key text[])
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pgbaton._require_all_queues('monitor');
    return (select k.value from pgbaton.kv as k where k.key = kv_get.key);
end;
$$;
comment on function pgbaton.kv_get(text[]) is
'The payload stored under a key path when a job failed for good, null if there is none.';
