create or replace function pgbaton.unregister_worker(worker_id text)
returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_sleepers_from constant bigint := pgbaton._sleepers_from();
    v_allowed constant integer[] := pgbaton._enter_worker(worker_id);
begin
    -- Whoever is about to wake it is not waited for.
    delete from pgbaton.sleeper as s
    where s.id = any (array(
        select o.id from pgbaton.sleeper as o
        where o.worker_id = unregister_worker.worker_id and o.id >= v_sleepers_from and o.role_name = pgbaton._actor()
        for update skip locked
    ));
    delete from pgbaton.worker as w
    where w.worker_id = unregister_worker.worker_id and w.queue_ids = coalesce(v_allowed, '{}');
    return found;
end;
$$;
comment on function pgbaton.unregister_worker(text) is
'Notes that a worker has stopped, and says whether it had sent a heartbeat. list_workers no longer shows it, unless it
still holds jobs, which stay as they are. Workers that die are forgotten a day after their last heartbeat. Raises
PB009, 22004 or 22023.';
