create or replace function pgbaton.kv_get(key text[])
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_allowed constant integer[] := pgbaton._allowed_queues('monitor');
begin
    perform pgbaton._check_flat('key', array_ndims(key));
    return (
        select k.value from pgbaton.kv as k
        where k.key = kv_get.key[:] and (v_allowed is null or k.queue_id = any (v_allowed))
        order by k.updated_at desc, k.queue_id desc
        limit 1
    );
end;
$$;
comment on function pgbaton.kv_get(text[]) is
'The payload that was stored under a key path when a job failed for good, null if there is none: the latest one of the
queues that the caller may monitor. Raises 2202E.';
